# What `kelvin heap` says, of a file that another tool wrote.
load ../lib/helpers

# Blocks of a Rust program: the standard library allocates them for shop::read_names.
make_heap() {
    cat >app.json <<'END'
{"dhatFileVersion":2,"mode":"heap","verb":"Allocated","bklt":true,"bkacc":true
,"tu":"instrs","Mtu":"Minstr","tuth":500,"cmd":"./shop --token secret","pid":1,"te":100,"tg":50
,"pps":
 [{"tb":900,"tbk":30,"tl":90,"mb":900,"mbk":30,"gb":900,"gbk":30,"eb":30,"ebk":1,"rb":0,"wb":0,"acc":[],"fs":[1,2,3,4,5,6,7]}
 ,{"tb":600,"tbk":20,"tl":90,"mb":600,"mbk":20,"gb":600,"gbk":20,"eb":0,"ebk":0,"rb":0,"wb":0,"acc":[],"fs":[1,8,6,7]}]
,"ftbl":
 ["[root]"
 ,"0x1: malloc (in /usr/lib/dhat.so)"
 ,"0x2: <alloc::alloc::Global>::grow_impl_runtime (alloc.rs:1)"
 ,"0x3: <&mut alloc::string::String as core::fmt::Write>::write_str (string.rs:2)"
 ,"0x4: <u64 as core::fmt::Display>::fmt (num.rs:3)"
 ,"0x5: core::option::Option<T>::map_or_else (option.rs:4)"
 ,"0x6: shop::read_names (shop.rs:5)"
 ,"0x7: shop::main (shop.rs:6)"
 ,"0x8: <shop::Price as core::fmt::Display>::fmt (shop.rs:7)"]}
END
}

@test "behind Rust's standard library stands its caller, and one block is one block" {
    make_heap
    kelvin heap app.json
    exits 0
    [[ $output == *"Never freed: 30 B in 1 block."* ]] || fail "$output"
    grep -Eq '60\.0% .* shop::read_names$' <<<"$output" || fail "$output"
    grep -Eq '40\.0% .* <shop::Price as core::fmt::Display>::fmt$' <<<"$output" || fail "$output"
    [[ $output != *"alloc::"* ]] || fail "$output"
}

@test "pages about a heap hide the command's arguments, unless they are asked for" {
    make_heap
    local format
    for format in html md json; do
        kelvin heap app.json --format "$format"
        exits 0
        [[ $output != *secret* ]] || fail "$format: $output"
    done
    kelvin heap app.json --format html --arguments
    [[ $output == *"--token secret"* ]] || fail "$output"
    kelvin heap app.json
    [[ $output == *"--token secret"* ]] || fail "$output"
}

@test "diff of exact counts shows bytes as such, and speaks of no samples" {
    make_heap
    kelvin diff app.json app.json
    exits 0
    [[ $output =~ total\ [0-9.]+\ (B|[KMG]iB)\ -\>\ [0-9.]+\ (B|[KMG]iB)\ \(\+0\.0%\) ]] || fail "$output"
    [[ $output != *"number of samples"* ]] || fail "$output"
}
