//! The linker: logs, images, what is refused.

mod common;
use common::*;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

const GOOD: &str = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .align 8 .u64 word = 42;\n.visible .entry k ()\n{\n\tret;\n}\n";
const BAD: &str =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k ()\n{\n\tbogus.u32 %r1;\n\tret;\n}\n";

/// A link with logs of `room` bytes.
struct Link {
    handle: Handle,
    _options: [u32; 6],
    values: Box<[u64; 6]>,
    _logs: Box<[[u8; 512]; 2]>,
}

impl Link {
    fn new(room: u64) -> Link {
        let mut logs = Box::new([[0xee_u8; 512]; 2]);
        let options = [2, 3, 4, 5, 6, 12];
        let (info, error) = (logs[0].as_mut_ptr() as u64, logs[1].as_mut_ptr() as u64);
        let mut values = Box::new([0, info, room, error, room, 1]);
        let mut handle = null_mut();
        ok!(cuLinkCreate_v2(6, options.as_ptr(), values.as_mut_ptr(), &mut handle));
        Link { handle, _options: options, values, _logs: logs }
    }

    fn add(&self, text: &str) -> u32 {
        let (data, none) = (text.as_ptr().cast(), std::ptr::null());
        code!(cuLinkAddData_v2(self.handle, 1, data, text.len(), c"part.o".as_ptr(), 0, none, null_mut()))
    }

    fn complete(&self) -> (u32, *const c_void, usize) {
        let (mut image, mut bytes) = (std::ptr::null(), 0);
        let code = code!(cuLinkComplete(self.handle, &mut image, &mut bytes));
        (code, image, bytes)
    }

    fn log(&self, value: usize) -> String {
        // SAFETY: the driver ends what it writes with a NUL.
        unsafe { CStr::from_ptr(self.values[value] as *const _) }.to_str().unwrap().to_owned()
    }
}

#[test]
fn malformed_ptx_is_named_by_line_and_token_in_the_error_log() {
    let _context = Context::new();
    let link = Link::new(512);
    assert_eq!(link.add(BAD), INVALID_PTX);
    let log = link.log(3);
    assert!(log.contains("part.o") && log.contains("line 6") && log.contains("bogus"), "{log}");
    assert_eq!(link.values[4], log.len() as u64, "the size option receives the length");
    assert!(f32::from_bits(link.values[0] as u32) > 0.0, "the time option receives milliseconds");
    ok!(cuLinkDestroy(link.handle));
    assert_eq!(code!(cuLinkDestroy(link.handle)), INVALID_HANDLE);
}

#[test]
fn a_log_is_cut_at_the_buffers_end() {
    let _context = Context::new();
    let link = Link::new(16);
    assert_eq!(link.add(BAD), INVALID_PTX);
    assert_eq!(link.log(3).len(), 15);
    // SAFETY: inside the log's buffer of 512 bytes.
    assert_eq!(unsafe { (link.values[3] as *const u8).add(16).read() }, 0xee);
}

#[test]
fn an_undefined_name_fails_the_link_and_stands_in_the_log() {
    let _context = Context::new();
    let link = Link::new(512);
    let text = ".version 7.0\n.target sm_52\n.address_size 64\n.extern .func missing ();\n.visible .entry k ()\n{\n\tcall missing;\n\tret;\n}\n";
    assert_eq!(link.add(text), OK);
    assert_eq!(link.complete().0, INVALID_PTX);
    assert!(link.log(3).contains("missing"));
}

#[test]
fn a_linked_image_can_be_stored_and_loaded_later() {
    let _context = Context::new();
    let link = Link::new(512);
    assert_eq!(link.add(GOOD), OK);
    assert!(link.log(1).contains("part.o"), "verbose links inform");
    let (code, image, bytes) = link.complete();
    assert_eq!(code, OK);
    // SAFETY: the driver said so.
    let stored = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), bytes) }.to_vec();
    ok!(cuLinkDestroy(link.handle));
    let (mut module, mut function) = (null_mut(), null_mut());
    ok!(cuModuleLoadData(&mut module, stored.as_ptr().cast()));
    ok!(cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
    assert_eq!(code!(cuModuleGetFunction(&mut function, module, c"l".as_ptr())), NOT_FOUND);
    let (mut address, mut size, mut value) = (0, 0, 0_u64);
    ok!(cuModuleGetGlobal_v2(&mut address, &mut size, module, c"word".as_ptr()));
    ok!(cuMemcpyDtoH_v2((&raw mut value).cast(), address, 8));
    assert_eq!((size, value), (8, 42));
    ok!(cuModuleUnload(module));
    assert_eq!(code!(cuModuleUnload(module)), INVALID_HANDLE);
    assert_eq!(code!(cuFuncLoad(function)), INVALID_HANDLE, "functions go with their module");
}

#[test]
fn images_that_are_none_are_refused() {
    let _context = Context::new();
    let mut module = null_mut();
    assert_eq!(code!(cuModuleLoadData(&mut module, std::ptr::null())), INVALID_VALUE);
    assert_eq!(code!(cuModuleLoadData(&mut module, c"hello".as_ptr().cast())), INVALID_PTX);
    assert_eq!(code!(cuModuleLoadData(&mut module, c"\x7fELF".as_ptr().cast())), 209);
}

#[test]
fn a_module_that_does_not_load_says_why_in_the_log() {
    let _context = Context::new();
    let header = ".version 7.0\n.target sm_70\n.address_size 64\n";
    for (body, words) in [
        (".entry k {\n\tfrob.u32 %r1;\n}\n", ["line 5", "'frob'"]),
        (".entry k {\n\t.reg .u32 %r;\n\tadd.u32 %r, %r\n}\n", ["line 7", "'}'"]),
        (".entry k {\n\t.reg .u32 %r;\n\tshl.b8 %r, %r, 1;\n}\n", ["line 6", "'.b8'"]),
        (".entry k {\n\t.reg .b128 %q;\n\tld.b128 %q, [0];\n}\n", ["line 6", "b128"]),
        (".shared .b8 s[1000000];\n.entry k { ret; }\n", ["line 4", "`s`"]),
        (".entry k {\n", ["line 5", "end of the text"]),
    ] {
        let text = std::ffi::CString::new(format!("{header}{body}")).unwrap();
        let (mut log, mut module) = ([0u8; 512], null_mut());
        // CU_JIT_ERROR_LOG_BUFFER and its size.
        let mut values = [log.as_mut_ptr() as u64, 512];
        let options = [5, 6];
        let code = code!(cuModuleLoadDataEx(
            &mut module,
            text.as_ptr().cast(),
            2,
            options.as_ptr(),
            values.as_mut_ptr()
        ));
        let log = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
        assert_ne!(code, OK, "{body}");
        assert!(words.iter().all(|word| log.contains(word)), "{body}: {log}");
    }
}
