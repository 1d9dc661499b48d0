check --width 160 IN/shop.txt IN/rules --against IN/later.txt.gz
check --width 160 IN/later.txt.gz IN/rules --against IN/shop.txt
check --width 160 --sizes 100,200,400 IN/size100.folded IN/size200.folded IN/size400.folded IN/growth-rules
check --width 160 --sizes 100,400 IN/size100.folded IN/size400.folded IN/growth-rules
info IN/shop.txt
info IN/before1.folded
info tests/golden/perf.data/dwarf.data
info tests/golden/perf.data/events.data
