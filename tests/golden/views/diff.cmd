diff --width 160 --before IN/before1.folded IN/before2.folded IN/before3.folded IN/before4.folded IN/before5.folded --after IN/after1.folded IN/after2.folded IN/after3.folded IN/after4.folded IN/after5.folded
diff --width 160 --before IN/before1.folded IN/before2.folded --after IN/before3.folded IN/before4.folded IN/before5.folded
diff --width 160 IN/before1.folded IN/after1.folded
diff --width 160 IN/before1.folded IN/before2.folded
diff --width 160 IN/shop.txt IN/later.txt.gz
diff --width 160 IN/shop.txt IN/shop.txt
diff --width 160 --min-share 5 --band 20 IN/before1.folded IN/after1.folded
diff --width 160 IN/before1.folded IN/shop.txt
diff --width 160 --force IN/before1.folded IN/shop.txt
diff --width 160 IN/before1.folded IN/renamed.folded
diff --width 160 IN/shop.txt IN/changed.txt.gz
diff --width 160 --force --before IN/shop.txt IN/later.txt.gz --after IN/changed.txt.gz IN/changed.txt.gz
diff --width 160 IN/shop.txt IN/stripped.txt.gz
diff --width 160 --force --before IN/stripped.txt.gz IN/stripped.txt.gz --after IN/shop.txt IN/changed.txt.gz
