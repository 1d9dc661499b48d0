// split_rust.rs - split.c in the way of Rust: generics, closures, trait objects.
//
// Usage: split_rust SECONDS [DEPTH]

// std::hint has one since 1.66; Debian 12's rustc is 1.63.
#[inline(always)]
fn black_box<T: Copy>(value: T) -> T {
    unsafe { std::ptr::read_volatile(&value) }
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, to: *mut Timespec) -> i32;
}

const THREAD_CPUTIME: i32 = 3;

fn cpu_ns() -> u64 {
    let mut t = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(THREAD_CPUTIME, &mut t) };
    t.seconds as u64 * 1_000_000_000 + t.nanoseconds as u64
}

// The constant keeps the parts from being merged into one function.
fn work(constant: u64) {
    let mut x = black_box(constant);
    for _ in 0..20000 {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(constant);
    }
    black_box(x);
}

#[inline(never)]
fn part_sixty() {
    work(60)
}

#[inline(never)]
fn part_thirty() {
    work(30)
}

#[inline(never)]
fn part_ten() {
    work(10)
}

#[inline(never)]
fn descend(depth: u32, then: &mut dyn FnMut()) -> u32 {
    let frame = black_box([depth; 12]);
    if depth == 0 {
        then();
    } else {
        descend(depth - 1, then);
    }
    black_box(frame)[0]
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let seconds: f64 = args.get(1).map_or(1.0, |s| s.parse().unwrap());
    let depth: u32 = args.get(2).map_or(5, |s| s.parse().unwrap());
    let parts: [(&str, u64, fn()); 3] =
        [("part_sixty", 60, part_sixty), ("part_thirty", 30, part_thirty), ("part_ten", 10, part_ten)];
    let mut spent = [0u64; 3];
    let slice_ns = 20_000_000u64;
    for slice in 1..=(seconds * 1e9) as u64 / slice_ns {
        for (i, (_, share, run)) in parts.iter().enumerate() {
            let until = slice * slice_ns * share / 100;
            descend(depth, &mut || {
                while spent[i] < until {
                    let start = cpu_ns();
                    run();
                    spent[i] += cpu_ns() - start;
                }
            });
        }
    }
    let total: u64 = spent.iter().sum();
    for (i, (name, _, _)) in parts.iter().enumerate() {
        println!("{} {:.2}", name, 100.0 * spent[i] as f64 / total as f64);
    }
}
