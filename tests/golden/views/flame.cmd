flame IN/shop.txt
flame --reverse --min-width 2% IN/shop.txt
flame --group none --min-width 0 IN/later.txt.gz
flame --flame-chart --time 0..0.6 IN/shop.txt
flame --flame-chart --group none --thread painter --min-width 3% IN/shop.txt
flame --focus walk --merge-recursion IN/shop.txt
flame --event heap --value peak IN/shelves.kelvin
