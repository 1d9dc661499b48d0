locks --width 160 IN/convoy.kelvin
locks --width 100 --top 1 IN/convoy.kelvin
locks --width 160 IN/kinds.kelvin
locks --width 160 IN/inversion.kelvin
locks --format json IN/inversion.kelvin
locks --format md IN/kinds.kelvin
locks IN/shop.txt
report --width 160 --symfs IN/ --event locks IN/convoy.kelvin
report --width 160 --symfs IN/ IN/convoy.kelvin
flame --event locks IN/kinds.kelvin
info IN/convoy.kelvin
