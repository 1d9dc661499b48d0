//! Scopes of a Rust program in its recording.
//!
//!     let _scope = kelvin::scope(c"request");     // until the end of the block
//!     kelvin::count(c"requests", 1);
//!
//! Under `kelvin record -- ./app` spans and counters are recorded; otherwise nothing happens. No
//! crate is needed: the library is the one that Kelvin names in the environment.
//!
//!     rustc --edition 2021 -O -g examples/kelvin_scopes.rs -o app && kelvin record -- ./app

mod kelvin {
    use std::ffi::{c_char, c_int, c_void, CStr, CString};
    use std::marker::PhantomData;
    use std::sync::OnceLock;

    extern "C" {
        fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }

    struct Hooks {
        push: unsafe extern "C" fn(*const c_char) -> c_int,
        pop: unsafe extern "C" fn(),
        count: unsafe extern "C" fn(*const c_char, i64),
    }

    fn load() -> Option<Hooks> {
        let words = std::env::var("KELVIN_SCOPES").ok()?;
        let path = CString::new(words.splitn(4, ' ').nth(3)?).ok()?; // PID FD INODE LIBRARY
        let library = unsafe { dlopen(path.as_ptr(), 2 | 0x1000) }; // RTLD_NOW | RTLD_NODELETE
        if library.is_null() {
            return None;
        }
        let find = |name: &CStr| {
            let at = unsafe { dlsym(library, name.as_ptr()) };
            if at.is_null() { None } else { Some(at) }
        };
        let (push, pop) = (find(c"kelvin_push")?, find(c"kelvin_pop")?);
        let count = find(c"kelvin_count")?;
        // The types are those that lib/scopes.c of Kelvin declares.
        Some(unsafe {
            Hooks {
                push: std::mem::transmute(push),
                pop: std::mem::transmute(pop),
                count: std::mem::transmute(count),
            }
        })
    }

    fn hooks() -> Option<&'static Hooks> {
        static HOOKS: OnceLock<Option<Hooks>> = OnceLock::new();
        HOOKS.get_or_init(load).as_ref()
    }

    /// A scope that is open. It ends in the thread that began it, so it cannot be sent.
    pub struct Scope {
        hooks: Option<&'static Hooks>,
        stays: PhantomData<*const ()>,
    }

    pub fn scope(name: &CStr) -> Scope {
        let hooks = hooks().filter(|h| unsafe { (h.push)(name.as_ptr()) } != 0);
        Scope { hooks, stays: PhantomData }
    }

    impl Drop for Scope {
        fn drop(&mut self) {
            if let Some(hooks) = self.hooks {
                unsafe { (hooks.pop)() }
            }
        }
    }

    pub fn count(name: &CStr, n: i64) {
        if let Some(hooks) = hooks() {
            unsafe { (hooks.count)(name.as_ptr(), n) }
        }
    }
}

fn parse(n: u64) -> Vec<u64> {
    let _scope = kelvin::scope(c"parse");
    (0..n).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
}

fn answer(mut numbers: Vec<u64>) -> u64 {
    let _scope = kelvin::scope(c"answer");
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}

fn main() {
    let mut sum = 0u64;
    for _ in 0..200 {
        let _scope = kelvin::scope(c"request");
        sum = sum.wrapping_add(answer(parse(5000)));
        kelvin::count(c"numbers", 5000);
    }
    println!("{sum}");
}
