//! A GPU of one device for tests: load PTX, make buffers, launch, read back.
#![allow(dead_code, reason = "each test program uses a part")]

use boomerang_gpu::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The device.
pub struct Gpu {
    pub memory: Arc<Memory>,
    pub device: Arc<Device>,
}

/// A launch's shape.
#[derive(Clone, Copy)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
}

/// `blocks` blocks of `threads` threads.
pub fn shape(blocks: u32, threads: u32) -> Shape {
    Shape { grid: [blocks, 1, 1], block: [threads, 1, 1], dynamic_shared: 0 }
}

impl Gpu {
    pub fn new() -> Gpu {
        Gpu::with(DeviceConfig { multiprocessors: 4, ..DeviceConfig::default() })
    }

    pub fn with(config: DeviceConfig) -> Gpu {
        let memory = Arc::new(Memory::new(&[4 << 30]).expect("address space"));
        Gpu { device: Device::new(config, memory.clone()), memory }
    }

    /// Loads PTX modules, linked.
    pub fn load_all(&self, texts: &[String]) -> Module {
        let parse = |(n, text): (usize, &String)| {
            boomerang_ptx::parse(text).unwrap_or_else(|e| panic!("object {n}: {e}"))
        };
        let modules = texts.iter().enumerate().map(parse).collect();
        let program = boomerang_ptx::link(modules).unwrap_or_else(|e| panic!("{e}"));
        let object =
            |(n, text): (usize, &String)| Object { name: format!("object{n}.ptx"), text: text.clone() };
        let objects = texts.iter().enumerate().map(object).collect();
        Module::load(&program, objects, &self.device).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Loads a module given without its header.
    pub fn load(&self, body: &str) -> Module {
        self.load_all(&[format!(".version 7.8\n.target sm_90\n.address_size 64\n{body}")])
    }

    /// A buffer of device memory with these values.
    pub fn buffer<T: Copy>(&self, values: &[T]) -> u64 {
        let size = size_of_val(values) as u64;
        let addr = self.memory.alloc_device(0, size.max(1), 256).expect("device memory");
        // SAFETY: the source is the slice.
        unsafe { self.memory.copy(addr, values.as_ptr() as u64, size) }.expect("it was just allocated");
        addr
    }

    /// What is in a buffer.
    pub fn read<T: Copy + Default>(&self, addr: u64, count: usize) -> Vec<T> {
        let mut values = vec![T::default(); count];
        let size = size_of_val(&values[..]) as u64;
        // SAFETY: the destination is the vector.
        unsafe { self.memory.copy(values.as_mut_ptr() as u64, addr, size) }.expect("it is a buffer");
        values
    }

    /// Launches a kernel whose parameters have 64 bits each.
    pub fn launch(
        &self,
        module: &Module,
        kernel: &str,
        shape: Shape,
        params: &[u64],
    ) -> Result<Stats, Box<Fault>> {
        let kernel = module.kernel(kernel).expect("the kernel exists");
        let params: Vec<u8> = params.iter().flat_map(|p| p.to_le_bytes()).collect();
        let Shape { grid, block, dynamic_shared } = shape;
        let launch = Launch { kernel: &kernel, grid, block, dynamic_shared, params: &params };
        run_grid(&launch, &AtomicBool::new(false))
    }

    /// Loads a kernel of one parameter, the address of `values`, runs it and gives what has become of them.
    pub fn transform<T: Copy + Default>(&self, kernel: &str, shape: Shape, values: &[T]) -> Vec<T> {
        let module = self.load(kernel);
        let name = module.kernel_names().next().expect("a kernel").to_string();
        let buffer = self.buffer(values);
        self.launch(&module, &name, shape, &[buffer]).unwrap_or_else(|fault| panic!("{fault}"));
        self.read(buffer, values.len())
    }
}

/// A kernel `k` with parameter `%data` and its thread number in `%id` (flat in the grid of one dimension), around a body.
pub fn kernel(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 data_param) {{
            .reg .u64 %data, %at, %x<20>;
            .reg .u32 %id, %lane, %cta, %n, %r<40>;
            .reg .f32 %f<20>;
            .reg .f64 %d<20>;
            .reg .pred %p<20>;
            ld.param.u64 %data, [data_param];
            mov.u32 %id, %tid.x;
            mov.u32 %cta, %ctaid.x;
            mov.u32 %n, %ntid.x;
            mad.lo.u32 %id, %cta, %n, %id;
            mov.u32 %lane, %laneid;
            mad.wide.u32 %at, %id, 4, %data;
            {body}
            ret;
        }}"
    )
}
