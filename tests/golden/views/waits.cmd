report --waits --width 160 --symfs IN/ IN/convoy.kelvin
report --waits --width 160 --symfs IN/ IN/waits-lock.kelvin
report --waits --width 100 --top 2 --symfs IN/ IN/waits-pipe.kelvin
report --waits --width 160 --symfs IN/ IN/waits-child.kelvin
report --waits --width 160 --symfs IN/ IN/waits-sync.kelvin
report --waits --width 160 --symfs IN/ IN/waits-busy.kelvin
report --waits --width 160 --symfs IN/ IN/waits-poll.kelvin
report --waits --width 160 --symfs IN/ --time 20ms..60ms IN/waits-lock.kelvin
report --waits --format json --symfs IN/ IN/waits-poll.kelvin
report --waits --symfs IN/ IN/shop.txt
report --width 160 --symfs IN/ IN/waits-busy.kelvin
report --width 160 --symfs IN/ --value blocked IN/waits-lock.kelvin
report --width 160 --symfs IN/ --value runnable --by thread IN/waits-busy.kelvin
fold --symfs IN/ --value blocked IN/waits-pipe.kelvin
flame --symfs IN/ --value blocked IN/waits-child.kelvin
info --symfs IN/ IN/waits-sync.kelvin
report --waits --width 40 --top 3 --symfs IN/ IN/waits-lock.kelvin
