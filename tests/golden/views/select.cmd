report --width 160 --time 20%..70% IN/shop.txt
report --width 160 --time 500ms..2 --thread painter IN/shop.txt
report --width 160 --focus walk --merge-recursion IN/shop.txt
report --width 160 --ignore main --hide render IN/shop.txt
report --width 160 --thread 102 --process shop IN/later.txt.gz
fold --focus parse|walk IN/shop.txt
fold --hide serve|sort_items IN/shop.txt
report --width 160 --event page-faults tests/golden/perf.data/events.data
