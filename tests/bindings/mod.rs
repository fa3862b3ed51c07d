//! `include/rev_wire.h` and `include/gomp_plugin.h`, made by bindgen: `cargo xtask regen`.
#![allow(missing_docs, non_camel_case_types, non_snake_case, dead_code)]

pub const REV_WIRE_VERSION: u32 = 5;
pub const REV_REGION_BYTES: u32 = 256;
pub const REV_MAX_SLOTS: u32 = 1024;
pub const REV_BELL_COPIES: u32 = 64;
pub const REV_MAX_INLINE_ITEMS: u32 = 32;
pub const REV_ITEM_ALIGN: u32 = 16;
pub const REV_OP_TARGET: u32 = 0;
pub const REV_OP_USER: u32 = 1;
pub const REV_FN_BITS: u32 = 48;
pub const REV_DEV_NUM_BITS: u32 = 4;
pub const REV_ITEMS_BITS: u32 = 4;
pub const REV_COMPACT_ITEMS: u32 = 8;
pub const REV_ITEM_WORDS: u32 = 4;
pub const REV_REPLY_WORDS: u32 = 7;
pub const REV_ADDRESS_BITS: u32 = 48;
pub const REV_KIND_BITS: u32 = 14;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rev_region {
    pub version: u32,
    pub slot_mask: u32,
    pub area_bytes: u32,
    pub ended_teams: u32,
    pub posted: u64,
    pub requests: u64,
    pub replies: u64,
    pub areas: u64,
    pub turns: u64,
    pub bell: u64,
    pub end: u64,
    pub words: u64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rev_turn {
    pub next: u32,
    pub serving: u32,
    pub left: u32,
    pub first_look: u32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rev_bell {
    pub rung: u32,
    pub reserved: [u32; 15usize],
    pub asleep: [rev_bell__bindgen_ty_1; 64usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rev_bell__bindgen_ty_1 {
    pub word: u32,
    pub reserved: [u32; 15usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rev_request {
    pub op: u32,
    pub has_inline: u32,
    pub fn_: u64,
    pub mapnum: u64,
    pub addrs: u64,
    pub sizes: u64,
    pub kinds: u64,
    pub dev_num: i32,
    pub reserved0: u32,
    pub reserved1: u64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rev_words {
    pub word: [u64; 32usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rev_reply {
    pub done: u32,
    pub dirty: u32,
    pub word: [u64; 7usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct addr_pair {
    pub start: usize,
    pub end: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct goacc_asyncqueue {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct boomerang_host_table {
    pub size: usize,
    pub malloc: ::std::option::Option<
        unsafe extern "C" fn(bytes: usize) -> *mut ::std::os::raw::c_void,
    >,
    pub debug: ::std::option::Option<
        unsafe extern "C" fn(line: *const ::std::os::raw::c_char),
    >,
    pub error: ::std::option::Option<
        unsafe extern "C" fn(message: *const ::std::os::raw::c_char),
    >,
    pub fatal: ::std::option::Option<
        unsafe extern "C" fn(message: *const ::std::os::raw::c_char),
    >,
    pub target_rev: ::std::option::Option<
        unsafe extern "C" fn(
            fn_: u64,
            mapnum: u64,
            addrs: u64,
            sizes: u64,
            kinds: u64,
            dev_num: ::std::os::raw::c_int,
            aq: *mut goacc_asyncqueue,
        ),
    >,
    pub task_completion: ::std::option::Option<
        unsafe extern "C" fn(task: *mut ::std::os::raw::c_void),
    >,
}
unsafe extern "C" {
    pub fn boomerang_set_host_table(table: *const boomerang_host_table) -> bool;
}
unsafe extern "C" {
    pub fn boomerang_set_call_handler(
        handler: ::std::option::Option<
            unsafe extern "C" fn(
                opcode: u32,
                data: *mut ::std::os::raw::c_void,
                bytes: u32,
                context: *mut ::std::os::raw::c_void,
            ),
        >,
        context: *mut ::std::os::raw::c_void,
    );
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_version() -> ::std::os::raw::c_uint;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_get_name() -> *const ::std::os::raw::c_char;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_get_caps() -> ::std::os::raw::c_uint;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_get_type() -> ::std::os::raw::c_int;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_get_num_devices(
        requires_mask: ::std::os::raw::c_uint,
    ) -> ::std::os::raw::c_int;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_get_uid(
        device: ::std::os::raw::c_int,
    ) -> *const ::std::os::raw::c_char;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_init_device(device: ::std::os::raw::c_int) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_fini_device(device: ::std::os::raw::c_int) -> bool;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct boomerang_ptx_object {
    pub code: *const ::std::os::raw::c_char,
    pub size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct boomerang_function {
    pub name: *const ::std::os::raw::c_char,
    pub dims: [::std::os::raw::c_ushort; 3usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct boomerang_image {
    pub ptx_objects: *const boomerang_ptx_object,
    pub ptx_object_count: ::std::os::raw::c_uint,
    pub variable_names: *const *const ::std::os::raw::c_char,
    pub variable_count: ::std::os::raw::c_uint,
    pub functions: *const boomerang_function,
    pub function_count: ::std::os::raw::c_uint,
    pub indirect_count: ::std::os::raw::c_uint,
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_load_image(
        device: ::std::os::raw::c_int,
        version: ::std::os::raw::c_uint,
        image: *const ::std::os::raw::c_void,
        table: *mut *mut addr_pair,
        reverse_table: *mut *mut u64,
        host_indirect: *mut u64,
    ) -> ::std::os::raw::c_int;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_unload_image(
        device: ::std::os::raw::c_int,
        version: ::std::os::raw::c_uint,
        image: *const ::std::os::raw::c_void,
    ) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_alloc(
        device: ::std::os::raw::c_int,
        bytes: usize,
    ) -> *mut ::std::os::raw::c_void;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_free(
        device: ::std::os::raw::c_int,
        block: *mut ::std::os::raw::c_void,
    ) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_managed_alloc(
        device: ::std::os::raw::c_int,
        bytes: usize,
    ) -> *mut ::std::os::raw::c_void;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_managed_free(
        device: ::std::os::raw::c_int,
        block: *mut ::std::os::raw::c_void,
    ) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_is_accessible_ptr(
        device: ::std::os::raw::c_int,
        start: *const ::std::os::raw::c_void,
        bytes: usize,
    ) -> ::std::os::raw::c_int;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_page_locked_host_alloc(
        block: *mut *mut ::std::os::raw::c_void,
        bytes: usize,
    ) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_page_locked_host_free(
        block: *mut ::std::os::raw::c_void,
    ) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_dev2host(
        device: ::std::os::raw::c_int,
        to: *mut ::std::os::raw::c_void,
        from: *const ::std::os::raw::c_void,
        bytes: usize,
    ) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_host2dev(
        device: ::std::os::raw::c_int,
        to: *mut ::std::os::raw::c_void,
        from: *const ::std::os::raw::c_void,
        bytes: usize,
    ) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_dev2dev(
        device: ::std::os::raw::c_int,
        to: *mut ::std::os::raw::c_void,
        from: *const ::std::os::raw::c_void,
        bytes: usize,
    ) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_memset(
        device: ::std::os::raw::c_int,
        block: *mut ::std::os::raw::c_void,
        value: ::std::os::raw::c_int,
        bytes: usize,
    ) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_memcpy2d(
        to_device: ::std::os::raw::c_int,
        from_device: ::std::os::raw::c_int,
        row_bytes: usize,
        rows: usize,
        to: *mut ::std::os::raw::c_void,
        to_offset_bytes: usize,
        to_offset_rows: usize,
        to_row_bytes: usize,
        from: *const ::std::os::raw::c_void,
        from_offset_bytes: usize,
        from_offset_rows: usize,
        from_row_bytes: usize,
    ) -> ::std::os::raw::c_int;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_memcpy3d(
        to_device: ::std::os::raw::c_int,
        from_device: ::std::os::raw::c_int,
        row_bytes: usize,
        rows: usize,
        planes: usize,
        to: *mut ::std::os::raw::c_void,
        to_offset_bytes: usize,
        to_offset_rows: usize,
        to_offset_planes: usize,
        to_row_bytes: usize,
        to_plane_rows: usize,
        from: *const ::std::os::raw::c_void,
        from_offset_bytes: usize,
        from_offset_rows: usize,
        from_offset_planes: usize,
        from_row_bytes: usize,
        from_plane_rows: usize,
    ) -> ::std::os::raw::c_int;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_can_run(function: *mut ::std::os::raw::c_void) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_run(
        device: ::std::os::raw::c_int,
        function: *mut ::std::os::raw::c_void,
        variables: *mut ::std::os::raw::c_void,
        args: *mut *mut ::std::os::raw::c_void,
    );
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_async_run(
        device: ::std::os::raw::c_int,
        function: *mut ::std::os::raw::c_void,
        variables: *mut ::std::os::raw::c_void,
        args: *mut *mut ::std::os::raw::c_void,
        task: *mut ::std::os::raw::c_void,
    );
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_exec(
        function: *mut ::std::os::raw::c_void,
        count: usize,
        host_addresses: *mut *mut ::std::os::raw::c_void,
        variables: *mut *mut ::std::os::raw::c_void,
        dims: *mut ::std::os::raw::c_uint,
        mapping: *mut ::std::os::raw::c_void,
    );
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_async_exec(
        function: *mut ::std::os::raw::c_void,
        count: usize,
        host_addresses: *mut *mut ::std::os::raw::c_void,
        variables: *mut *mut ::std::os::raw::c_void,
        dims: *mut ::std::os::raw::c_uint,
        mapping: *mut ::std::os::raw::c_void,
        queue: *mut goacc_asyncqueue,
    );
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_create_thread_data(
        device: ::std::os::raw::c_int,
    ) -> *mut ::std::os::raw::c_void;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_destroy_thread_data(data: *mut ::std::os::raw::c_void);
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_async_construct(
        device: ::std::os::raw::c_int,
    ) -> *mut goacc_asyncqueue;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_async_destruct(queue: *mut goacc_asyncqueue) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_async_test(
        queue: *mut goacc_asyncqueue,
    ) -> ::std::os::raw::c_int;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_async_synchronize(queue: *mut goacc_asyncqueue) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_async_serialize(
        earlier: *mut goacc_asyncqueue,
        later: *mut goacc_asyncqueue,
    ) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_async_queue_callback(
        queue: *mut goacc_asyncqueue,
        function: ::std::option::Option<
            unsafe extern "C" fn(arg1: *mut ::std::os::raw::c_void),
        >,
        argument: *mut ::std::os::raw::c_void,
    );
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_async_dev2host(
        device: ::std::os::raw::c_int,
        to: *mut ::std::os::raw::c_void,
        from: *const ::std::os::raw::c_void,
        bytes: usize,
        queue: *mut goacc_asyncqueue,
    ) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_async_host2dev(
        device: ::std::os::raw::c_int,
        to: *mut ::std::os::raw::c_void,
        from: *const ::std::os::raw::c_void,
        bytes: usize,
        queue: *mut goacc_asyncqueue,
    ) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_async_dev2dev(
        device: ::std::os::raw::c_int,
        to: *mut ::std::os::raw::c_void,
        from: *const ::std::os::raw::c_void,
        bytes: usize,
        queue: *mut goacc_asyncqueue,
    ) -> bool;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_cuda_get_current_device() -> *mut ::std::os::raw::c_void;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_cuda_get_current_context() -> *mut ::std::os::raw::c_void;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_cuda_get_stream(
        queue: *mut goacc_asyncqueue,
    ) -> *mut ::std::os::raw::c_void;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_cuda_set_stream(
        queue: *mut goacc_asyncqueue,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union goacc_property_value {
    pub ptr: *const ::std::os::raw::c_char,
    pub val: usize,
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_openacc_get_property(
        device: ::std::os::raw::c_int,
        property: ::std::os::raw::c_int,
    ) -> goacc_property_value;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct interop_obj_t {
    pub stream: *mut ::std::os::raw::c_void,
    pub device_data: *mut ::std::os::raw::c_void,
    pub fr: ::std::os::raw::c_int,
    pub device_num: ::std::os::raw::c_int,
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_interop(
        object: *mut interop_obj_t,
        device: ::std::os::raw::c_int,
        action: ::std::os::raw::c_int,
        targetsync: bool,
        prefer_type: *const ::std::os::raw::c_char,
    );
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_get_interop_int(
        object: *mut interop_obj_t,
        property: ::std::os::raw::c_int,
        outcome: *mut ::std::os::raw::c_int,
    ) -> isize;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_get_interop_ptr(
        object: *mut interop_obj_t,
        property: ::std::os::raw::c_int,
        outcome: *mut ::std::os::raw::c_int,
    ) -> *mut ::std::os::raw::c_void;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_get_interop_str(
        object: *mut interop_obj_t,
        property: ::std::os::raw::c_int,
        outcome: *mut ::std::os::raw::c_int,
    ) -> *const ::std::os::raw::c_char;
}
unsafe extern "C" {
    pub fn GOMP_OFFLOAD_get_interop_type_desc(
        object: *mut interop_obj_t,
        property: ::std::os::raw::c_int,
    ) -> *const ::std::os::raw::c_char;
}
