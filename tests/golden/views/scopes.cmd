scopes --width 160 IN/scopes.kelvin
scopes --width 160 --by index IN/scopes.kelvin
scopes --width 100 --by kind --top 2 IN/scopes2.kelvin
scopes --width 160 --time 3ms.. IN/scopes2.kelvin
scopes --width 160 --where index=5 IN/scopes2.kelvin
scopes --width 160 --scope matmul IN/scopes.kelvin
scopes --format csv --by kind IN/scopes.kelvin
scopes --format json --by index --top 3 IN/scopes.kelvin
scopes --by nothing IN/scopes.kelvin
scopes IN/before1.folded
fold --scope layer IN/scopes2.kelvin
fold --scope nothing IN/scopes2.kelvin
flame --scopes --group none IN/scopes.kelvin
flame --scopes IN/shop.txt
diff --scopes --width 160 IN/scopes.kelvin IN/scopes2.kelvin
diff --scopes --width 160 --force --before IN/scopes.kelvin IN/scopes.kelvin IN/scopes2.kelvin --after IN/scopes2.kelvin IN/scopes2.kelvin IN/scopes2.kelvin
check --width 160 IN/scopes2.kelvin IN/scope-rules
check --format junit IN/scopes2.kelvin IN/scope-rules
info IN/scopes.kelvin
