heap --width 160 IN/shelves.kelvin
heap --width 100 --top 2 IN/shelves.kelvin
report --width 160 --event heap IN/shelves.kelvin
report --width 160 --event heap --value peak IN/shelves.kelvin
report --width 160 --event heap-sizes IN/shelves.kelvin
fold --event heap --value leaked IN/shelves.kelvin
