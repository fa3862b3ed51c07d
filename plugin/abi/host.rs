//! What the plugin calls in its host: libgomp's `GOMP_PLUGIN_*`, or the like of a C program that drives the plugin by
//! itself.
//!
//! A table that such a program registers comes first; else libgomp's functions, looked up when first needed; else
//! built-in ones (malloc, standard error, abort), which cannot serve reverse offload.

pub mod openacc;

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use libloading::os::unix::{Library, RTLD_LAZY};

use crate::env;
use crate::reverse::slot::Request;

/// `RTLD_NOLOAD` of glibc's dlfcn.h: find a library only if it is loaded already.
const RTLD_NOLOAD: c_int = 4;

type TargetRevFn = unsafe extern "C" fn(u64, u64, u64, u64, u64, c_int, *mut c_void);
type TaskFn = unsafe extern "C" fn(*mut c_void);
type TextFn = unsafe extern "C" fn(*const c_char);

/// `struct boomerang_host_table` of `include/gomp_plugin.h`. A null function has the built-in one stand in.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostTable {
    /// `sizeof (struct boomerang_host_table)`
    pub size: usize,
    /// Allocates memory that the program frees.
    pub malloc: Option<unsafe extern "C" fn(usize) -> *mut c_void>,
    /// Takes a line for GOMP_DEBUG, with its newline.
    pub debug: Option<TextFn>,
    /// Takes an error message.
    pub error: Option<TextFn>,
    /// Takes an error message and ends the program.
    pub fatal: Option<TextFn>,
    /// Serves a reverse-offload request.
    pub target_rev: Option<TargetRevFn>,
    /// Is told that a region of `GOMP_OFFLOAD_async_run` has ended.
    pub task_completion: Option<TaskFn>,
}

// As a C program lays it out.
const _: () = assert!(size_of::<HostTable>() == 56);

/// libgomp's functions. The variadic ones are printf-like.
struct Libgomp {
    malloc: unsafe extern "C" fn(usize) -> *mut c_void,
    debug: unsafe extern "C" fn(c_int, *const c_char, ...),
    error: unsafe extern "C" fn(*const c_char, ...),
    fatal: unsafe extern "C" fn(*const c_char, ...),
    target_rev: TargetRevFn,
    task_completion: TaskFn,
    num_devices: unsafe extern "C" fn() -> c_int,
}

static REGISTERED: OnceLock<HostTable> = OnceLock::new();

/// The functions of a C program that drives the plugin without libgomp. To be called before anything else.
///
/// Returns false when `table` is null, of another size, or when there is one already.
///
/// # Safety
/// `table` is null or points at a table whose functions have the types that `include/gomp_plugin.h` declares.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn boomerang_set_host_table(table: *const HostTable) -> bool {
    // SAFETY: the caller's promise.
    let Some(table) = (unsafe { table.as_ref() }) else { return false };
    table.size == size_of::<HostTable>() && REGISTERED.set(*table).is_ok()
}

fn libgomp() -> Option<&'static Libgomp> {
    static LIBGOMP: OnceLock<Option<Libgomp>> = OnceLock::new();
    LIBGOMP
        .get_or_init(|| {
            let library = libgomp_library();
            let functions = find_libgomp(&library);
            // libgomp calls us, so it is there as long as we are; keeping the handle makes sure.
            std::mem::forget(library);
            functions
        })
        .as_ref()
}

fn libgomp_library() -> Library {
    // SAFETY: RTLD_NOLOAD runs no initialiser.
    unsafe { Library::open(Some("libgomp.so.1"), RTLD_LAZY | RTLD_NOLOAD) }
        .unwrap_or_else(|_| Library::this())
}

fn find_libgomp(library: &Library) -> Option<Libgomp> {
    // SAFETY: the types are those of libgomp-plugin.h, the same in libgomp 13 to 16.
    unsafe {
        Some(Libgomp {
            malloc: *library.get(b"GOMP_PLUGIN_malloc").ok()?,
            debug: *library.get(b"GOMP_PLUGIN_debug").ok()?,
            error: *library.get(b"GOMP_PLUGIN_error").ok()?,
            fatal: *library.get(b"GOMP_PLUGIN_fatal").ok()?,
            target_rev: *library.get(b"GOMP_PLUGIN_target_rev").ok()?,
            task_completion: *library.get(b"GOMP_PLUGIN_target_task_completion").ok()?,
            num_devices: *library.get(b"omp_get_num_devices").ok()?,
        })
    }
}

/// A message as C wants it; a NUL inside would cut it short.
fn c_text(message: &str) -> CString {
    CString::new(message.replace('\0', "?")).expect("no NUL is left")
}

/// Prints a line if GOMP_DEBUG asks for it; only then is it made.
pub fn debug(message: impl FnOnce() -> String) {
    if !env::debug() {
        return;
    }
    let message = message();
    if let Some(table) = REGISTERED.get() {
        if let Some(debug) = table.debug {
            // SAFETY: the text ends in NUL; the function is what the registering program promised.
            return unsafe { debug(c_text(&format!("{message}\n")).as_ptr()) };
        }
    } else if let Some(libgomp) = libgomp() {
        // SAFETY: printf-like, given a format for one string and that string.
        return unsafe { (libgomp.debug)(0, c"%s\n".as_ptr(), c_text(&message).as_ptr()) };
    }
    eprintln!("{message}");
}

/// Prints an error message.
pub fn error(message: &str) {
    if let Some(table) = REGISTERED.get() {
        if let Some(error) = table.error {
            // SAFETY: as in `debug`.
            return unsafe { error(c_text(message).as_ptr()) };
        }
    } else if let Some(libgomp) = libgomp() {
        // SAFETY: as in `debug`.
        return unsafe { (libgomp.error)(c"%s".as_ptr(), c_text(message).as_ptr()) };
    }
    eprintln!("boomerang: {message}");
}

/// How long a thread waits for another one to end the program, before it does so itself.
const ENDING: Duration = Duration::from_secs(10);
/// The thread that closed a device last. At the end of the program it is the one that ends it.
static CLOSER: Mutex<Option<ThreadId>> = Mutex::new(None);

/// Remembers that this thread closes a device.
pub fn closes_device() {
    *CLOSER.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current().id());
}

/// To be called when the driver is shutting down: lets another thread that ends the program do so. Were libgomp told of a failure
/// now, it would end the program a second time, with a status of its own.
pub fn await_end() {
    let closer = *CLOSER.lock().unwrap_or_else(PoisonError::into_inner);
    if closer.is_some_and(|closer| closer != std::thread::current().id()) {
        std::thread::sleep(ENDING);
    }
}

/// How long a thread that finds a device lost waits for the one that found it first.
const TELLING: Duration = Duration::from_secs(1);
/// Whether the user has been told of a kernel that failed, by a message that did not end the program.
static FAULT_TOLD: Mutex<bool> = Mutex::new(false);
static TOLD: Condvar = Condvar::new();

/// The user has been told of the first failure of a kernel.
pub fn fault_is_told() {
    *FAULT_TOLD.lock().unwrap_or_else(PoisonError::into_inner) = true;
    TOLD.notify_all();
}

/// Waits until the user has been told, or the program has been ended with it. To be called before a thread ends the program because
/// of a failure that another thread has found: that one's message names the kernel.
pub fn await_fault_told() {
    let told = FAULT_TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    drop(TOLD.wait_timeout_while(told, TELLING, |told| !*told));
}

/// Prints an error message and ends the program. libgomp does it with `exit`, whose handlers call the plugin again on
/// this thread: hold no lock. `exit` must not be called twice, so a second failure is not told of.
pub fn fatal(message: &str) -> ! {
    static ENDED_BY: OnceLock<ThreadId> = OnceLock::new();
    let me = std::thread::current().id();
    if ENDED_BY.set(me).is_err() {
        if ENDED_BY.get() != Some(&me) {
            std::thread::sleep(ENDING);
        }
        // SAFETY: ends the process, without exit handlers: they are running already, or hang.
        unsafe { _exit(1) }
    }
    if let Some(table) = REGISTERED.get() {
        if let Some(fatal) = table.fatal {
            // SAFETY: as in `debug`.
            unsafe { fatal(c_text(message).as_ptr()) };
        }
    } else if let Some(libgomp) = libgomp() {
        // SAFETY: as in `debug`.
        unsafe { (libgomp.fatal)(c"%s".as_ptr(), c_text(message).as_ptr()) };
    } else {
        eprintln!("boomerang: {message}");
    }
    std::process::abort()
}

/// Allocates `count` elements of zeroed memory that the caller of the plugin frees with `free`. Null for none, and
/// when memory is short.
pub fn malloc<T: Copy>(count: usize) -> *mut T {
    let Some(bytes) = count.checked_mul(size_of::<T>()) else { return ptr::null_mut() };
    let allocated = if let Some(allocate) = REGISTERED.get().and_then(|table| table.malloc) {
        // SAFETY: what the registering program promised.
        unsafe { allocate(bytes) }
    } else if let Some(libgomp) = libgomp().filter(|_| REGISTERED.get().is_none()) {
        // SAFETY: as malloc, but never returns null.
        unsafe { (libgomp.malloc)(bytes) }
    } else {
        // SAFETY: C's own.
        unsafe { c_malloc(bytes) }
    };
    if !allocated.is_null() {
        // SAFETY: the block has that many bytes.
        unsafe { ptr::write_bytes(allocated.cast::<u8>(), 0, bytes) };
    }
    allocated.cast()
}

/// How many devices the host knows, of whatever kind: requests name the host's numbers. `ours` for a host that doesn't tell.
fn device_count(ours: usize) -> usize {
    let libgomp = libgomp().filter(|_| REGISTERED.get().is_none());
    // SAFETY: takes nothing and only looks at a variable of libgomp's: its devices have long been counted.
    libgomp.map_or(ours, |libgomp| usize::try_from(unsafe { (libgomp.num_devices)() }).unwrap_or(0))
}

/// Has the host run a reverse-offload request on this thread. `ours`: the number of the plugin's devices. Does not return when the
/// request is for a device that the host doesn't know, which libgomp doesn't check, nor when the host refuses it: libgomp ends the
/// program.
///
/// # Safety
/// The request is one that a kernel waiting for its reply has posted; its addresses are valid until the reply.
pub unsafe fn target_rev(request: &Request, queue: *mut c_void, ours: usize) {
    let serve = match REGISTERED.get() {
        Some(table) => table.target_rev,
        None => libgomp().map(|libgomp| libgomp.target_rev),
    };
    let Some(serve) = serve else {
        fatal("a kernel requested reverse offload and there is no libgomp to serve it")
    };
    let Request { func, mapnum, addrs, sizes, kinds, dev_num } = *request;
    let count = device_count(ours);
    if usize::try_from(dev_num).map_or(true, |number| number >= count) {
        fatal(&format!(
            "a kernel requested reverse offload for device {dev_num}, and there are {count} devices"
        ))
    }
    // SAFETY: the caller's promise.
    unsafe { serve(func, mapnum, addrs, sizes, kinds, dev_num, queue) }
}

/// What the host knows a region by that it does not wait for.
pub struct Task(*mut c_void);

// SAFETY: the host may be told of the end on any thread; nothing here follows the pointer.
unsafe impl Send for Task {}

impl Task {
    /// # Safety
    /// The host may be told of its end once.
    pub unsafe fn new(task: *mut c_void) -> Task {
        Task(task)
    }

    /// Tells the host that the region has ended. libgomp takes its team's task lock for that, which nobody holds for longer than it
    /// takes to change a list.
    pub fn complete(self) {
        let completion = match REGISTERED.get() {
            Some(table) => table.task_completion,
            None => libgomp().map(|libgomp| libgomp.task_completion),
        };
        if let Some(completion) = completion {
            // SAFETY: the promise of `new`.
            unsafe { completion(self.0) }
        }
    }
}

#[repr(C)]
struct DlInfo {
    file_name: *const c_char,
    file_base: *mut c_void,
    symbol_name: *const c_char,
    symbol_address: *mut c_void,
}

unsafe extern "C" {
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
    fn _exit(status: c_int) -> !;
    #[link_name = "malloc"]
    fn c_malloc(bytes: usize) -> *mut c_void;
}

/// The file that `address` is mapped from: the program or one of its libraries.
pub fn file_of(address: usize) -> Option<PathBuf> {
    let mut info = DlInfo {
        file_name: ptr::null(),
        file_base: ptr::null_mut(),
        symbol_name: ptr::null(),
        symbol_address: ptr::null_mut(),
    };
    // SAFETY: `info` is valid for the write.
    let found = unsafe { dladdr(ptr::without_provenance(address), &mut info) };
    if found == 0 || info.file_name.is_null() {
        return None;
    }
    // SAFETY: the loader's own string, which lives as long as the file is mapped.
    let path = unsafe { CStr::from_ptr(info.file_name) };
    std::fs::canonicalize(OsStr::from_bytes(path.to_bytes())).ok()
}

/// The file that holds the plugin.
pub fn plugin_path() -> Option<PathBuf> {
    file_of(plugin_path as fn() -> Option<PathBuf> as usize)
}

/// Whether some part of the process has loaded a library of this name.
pub fn is_loaded(name: &CStr) -> bool {
    // SAFETY: RTLD_NOLOAD runs no initialiser.
    unsafe { Library::open(Some(OsStr::from_bytes(name.to_bytes())), RTLD_LAZY | RTLD_NOLOAD) }.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_another_size_is_refused() {
        let table = HostTable {
            size: 8,
            malloc: None,
            debug: None,
            error: None,
            fatal: None,
            target_rev: None,
            task_completion: None,
        };
        // SAFETY: null, or a table without functions.
        unsafe {
            assert!(!boomerang_set_host_table(ptr::null()));
            assert!(!boomerang_set_host_table(&table));
        }
    }

    #[test]
    fn allocated_memory_is_zeroed_and_an_absurd_count_gives_null() {
        let words = malloc::<u64>(16);
        // SAFETY: sixteen words were allocated.
        assert!(unsafe { std::slice::from_raw_parts(words, 16) }.iter().all(|word| *word == 0));
        assert!(malloc::<u64>(usize::MAX).is_null());
    }

    #[test]
    fn who_finds_the_device_lost_lets_the_thread_tell_that_found_it_first() {
        let tells = std::thread::spawn(fault_is_told);
        await_fault_told();
        assert!(*FAULT_TOLD.lock().expect("no panic"));
        tells.join().expect("no panic");
    }

    #[test]
    fn the_plugin_knows_its_own_file() {
        assert!(plugin_path().expect("the test program is a file").is_file());
    }
}
