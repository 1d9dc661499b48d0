report --format json --symfs IN/ --top 4 IN/shop.txt
report --format json --symfs IN/ --top 3 tests/golden/callgrind/graph.out
report --format md --top 3 --symfs IN/ IN/before1.folded
diff --format md --top 2 IN/before1.folded IN/after1.folded
check --format json IN/shop.txt IN/rules --against IN/later.txt.gz
check --width 160 IN/shelves.kelvin IN/heap-rules
check --width 160 --force --against IN/shelves.kelvin IN/shelves.kelvin IN/heap-change-rules
heap --format json --top 2 IN/shelves.kelvin
info --json IN/shop.txt
info --json IN/shelves.kelvin
