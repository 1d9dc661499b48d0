report --width 160 IN/shop.txt
report --width 160 --top 40 IN/shop.txt IN/later.txt.gz
report --width 100 IN/before1.folded
report --width 160 --by module IN/shop.txt
report --width 160 --by thread IN/later.txt.gz
report --width 160 --by line IN/shop.txt
report --width 160 --callers malloc IN/shop.txt
report --width 160 --callers walk IN/shop.txt
report --width 160 --callers render IN/before2.folded
report --width 160 --callers mall IN/before2.folded
report --width 160 tests/golden/pprof/go-heap.pb.gz
report --width 160 tests/golden/perf.data/events.data
report --width 160 tests/golden/jemalloc/threads.heap
report --width 160 tests/golden/callgrind/graph.out
