//! Loads an image: kernels, variables, and the tables that host and device share.

use std::collections::HashSet;
use std::ffi::{CStr, CString, c_void};
use std::sync::Arc;

use cudarc::driver::sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;

use super::link::Linked;
use super::symbols::Symbols;
use super::{Descriptor, Image, Kernel, Protocol, descriptor, first_use, indirect, link};
use crate::abi::host;
use crate::device::Device;
use crate::driver::{Code, CudaError, DevicePtr, Function, Module};
use crate::error::{Error, Result};
use crate::launch;
use crate::launch::dims::Residents;

/// The device library's clock period in seconds (newlib, config/nvptx).
const CLOCK_TICK: &str = "__nvptx_clocktick";
/// The device's ICVs (`GOMP_ADDITIONAL_ICVS` of libgomp-plugin.h).
const ICVS: &str = "__gomp_additional_icvs";
/// Pointer to the slot for requests (`GOMP_REV_OFFLOAD_VAR`, libgomp/config/nvptx/libgomp-nvptx.h).
pub(super) const REVERSE_SLOT: &str = "__gomp_rev_offload_var";
/// Device addresses of all functions, made by mkoffload for programs that require reverse offload.
const FUNCTION_TABLE: &str = "$offload_func_table";
/// Device addresses of the indirect functions, made by mkoffload.
const INDIRECT_TABLE: &str = "$offload_ind_func_table";
/// Pointers to the tables of `indirect` (`GOMP_INDIRECT_ADDR_MAP` and `_HMAP` of libgomp-plugin.h).
const INDIRECT_LIST: &str = "__gomp_indirect_addr_map";
const INDIRECT_HASH_TABLE: &str = "__gomp_indirect_addr_hmap";
/// All of these: what is looked up in an image besides its kernels and variables.
pub const LOOKED_UP: [&str; 7] =
    [CLOCK_TICK, ICVS, REVERSE_SLOT, FUNCTION_TABLE, INDIRECT_TABLE, INDIRECT_LIST, INDIRECT_HASH_TABLE];

/// Start and end of what a host address maps to: `struct addr_pair`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressPair {
    /// First address.
    pub start: usize,
    /// The address behind the last.
    pub end: usize,
}

/// What libgomp is told about an image.
#[derive(Debug)]
pub struct Loaded {
    /// For each function, each variable, and the ICVs.
    pub table: Vec<AddressPair>,
    /// Device addresses of the functions that the host may be asked to run, 0 for others; none where there are none.
    pub reverse_table: Option<Vec<u64>>,
}

/// A kernel of the image that runs the constructors, or destructors, of the program's device variables.
#[derive(Debug, Clone, Copy)]
pub struct Structors {
    function: Function,
    /// Whether it was compiled for soft stacks and takes one as its argument.
    needs_stack: bool,
}

/// Loads an image on a device. `reverse`: whether the program requires reverse offload. `host_indirect`: addresses of the
/// host's indirect functions.
///
/// # Errors
/// What is wrong with the image, or what the driver says.
pub fn load(
    device: &'static Device,
    address: *const c_void,
    image: &Descriptor<'_>,
    reverse: bool,
    host_indirect: &[u64],
) -> Result<Loaded> {
    let _context = device.enter()?;
    let Linked { module, protocol, calls, prints, quiet, has_first_use, has_exposed_table } =
        link::link(device, image, reverse)?;
    let mut symbols = Symbols::default();
    image.objects.iter().for_each(|text| symbols.add(text.to_bytes()));
    let calls = calls.then_some(protocol);
    let mut loader = Loader {
        device,
        image,
        module,
        calls,
        prints,
        quiet,
        has_first_use,
        has_exposed_table,
        symbols,
        memory: vec![],
    };
    let result = loader.load(address as usize, reverse.then_some(protocol), host_indirect);
    result.inspect_err(|_| {
        // SAFETY: nobody has heard of the module yet, nor of its memory.
        unsafe { release(device, module, &loader.memory) }
    })
}

struct Loader<'a> {
    device: &'static Device,
    image: &'a Descriptor<'a>,
    module: Module,
    /// Whether kernels may call the host through our own API.
    calls: Option<Protocol>,
    /// Whether a kernel may print and go on.
    prints: bool,
    /// Kernels that surely make no requests.
    quiet: HashSet<String>,
    /// Whether there is a kernel to be launched before those that wait for the host.
    has_first_use: bool,
    /// Whether the pointer to the hash table of indirect functions can be found.
    has_exposed_table: bool,
    symbols: Symbols<'a>,
    /// Device memory that goes with the image.
    memory: Vec<DevicePtr>,
}

impl Loader<'_> {
    fn load(&mut self, address: usize, requests: Option<Protocol>, host_indirect: &[u64]) -> Result<Loaded> {
        let reverse_table = requests.map_or(Ok(None), |protocol| self.attach_reverse(protocol))?;
        if self.calls.is_some() {
            let name = &self.image.name;
            host::debug(|| format!("offload image {name}: kernels call the host through our device runtime"));
        }
        // A kernel with our device runtime may look for its region whether the image makes requests or not.
        let requests = requests.filter(|protocol| reverse_table.is_some() || *protocol != Protocol::Slot);
        let requests = requests.or(self.calls);
        if requests.is_some() {
            self.check(self.device.launch.expect_requests(self.device.driver), "streams")?;
            if self.has_first_use {
                let found = self.device.driver.function(self.module, first_use::NAME);
                let kernel =
                    Structors { function: self.check(found, "first use of printing")?, needs_stack: false };
                run(self.device, kernel, "first use of printing", &self.image.name)?;
            }
        }
        let kernels = self.kernels(requests)?;
        let mut table: Vec<_> =
            kernels.iter().map(|kernel| pair(std::ptr::from_ref(kernel) as usize, 1)).collect();
        for name in &self.image.variables {
            let (start, bytes) = self.global(name)?;
            table.push(pair(start as usize, bytes));
        }
        self.fill_indirect(host_indirect)?;
        if let Some((tick, bytes)) = self.optional(CLOCK_TICK)? {
            let seconds = 1e-3 / f64::from(self.device.attrs.clock_khz.max(1));
            self.write(tick, &seconds.to_le_bytes()[..bytes.min(8)])?;
        }
        let constructors = self.structors("__do_global_ctors__entry")?;
        let destructors = self.structors("__do_global_dtors__entry")?;
        if let Some(constructors) = constructors {
            run(self.device, constructors, "constructors", &self.image.name)?;
        }
        let icvs = self.icvs()?;
        table.push(icvs);
        self.device.lock_images().push(Image {
            address,
            name: self.image.name.clone(),
            module: self.module,
            kernels,
            destructors,
            memory: std::mem::take(&mut self.memory),
            has_known_icvs: icvs.start != 0,
        });
        Ok(Loaded { table, reverse_table })
    }

    fn kernels(&self, requests: Option<Protocol>) -> Result<Arc<[Kernel]>> {
        let mut missing = vec![];
        let kernel = |&descriptor::Function { name, dims }: &_| {
            let text: Arc<str> = name.to_string_lossy().into();
            let driver = self.device.driver;
            let found = driver.function(self.module, name);
            let requests = requests.filter(|_| !self.quiet.contains(&*text));
            if found.is_err_and(|error| error.code == Code::NOT_FOUND) {
                missing.push(Arc::clone(&text));
                return Ok(Kernel {
                    name: text,
                    function: Function::NONE,
                    block_threads: 0,
                    residents: Residents::default(),
                    dims,
                    requests,
                    prints: self.prints,
                });
            }
            let function = self.check(found, &text)?;
            let attribute = |attribute| {
                let value = self.check(driver.function_attribute(function, attribute), &text)?;
                Ok::<_, Error>(u32::try_from(value).unwrap_or(0))
            };
            Ok(Kernel {
                block_threads: attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
                residents: Residents::default(),
                function,
                name: text,
                dims,
                requests,
                prints: self.prints,
            })
        };
        let kernels = self.image.functions.iter().map(kernel).collect::<Result<_>>()?;
        if !missing.is_empty() {
            let names = missing.join(", ");
            host::error(&self.image.wrong(format!("no kernel {names}; the host will run it")).to_string());
        }
        Ok(kernels)
    }

    /// The table of functions that the host can be asked to run, if kernels of the image may ask: the library member that
    /// posts requests is linked in only where device code makes some.
    fn attach_reverse(&self, protocol: Protocol) -> Result<Option<Vec<u64>>> {
        let Some((slot, _)) = self.optional(REVERSE_SLOT)? else { return Ok(None) };
        if self.image.functions.is_empty() || !self.symbols.has(FUNCTION_TABLE) {
            return Ok(None);
        }
        let table = self.read_table(FUNCTION_TABLE, self.image.functions.len())?;
        if table.iter().all(|function| *function == 0) {
            return Ok(None);
        }
        let (name, device) = (&self.image.name, self.device);
        match protocol {
            Protocol::Slot => {
                host::debug(|| {
                    format!("offload image {name}: requests come through libgomp's slot, one at a time")
                });
                self.check(device.reverse.attach(device, slot), REVERSE_SLOT)?;
            }
            Protocol::Ring { .. } => {
                host::debug(|| format!("offload image {name}: requests come through our device runtime"));
                self.check(device.reverse.share(device.driver), REVERSE_SLOT)?;
            }
        }
        Ok(Some(table))
    }

    fn fill_indirect(&mut self, host: &[u64]) -> Result<()> {
        if self.image.indirect == 0 {
            return Ok(());
        }
        if host.len() != self.image.indirect {
            return Err(self
                .image
                .wrong(format!("{} indirect functions, and none in the host's table", self.image.indirect)));
        }
        let device = self.read_table(INDIRECT_TABLE, host.len())?;
        let pairs: Vec<_> = host.iter().copied().zip(device).collect();
        match (self.optional(INDIRECT_HASH_TABLE)?, self.optional(INDIRECT_LIST)?) {
            (Some((variable, _)), _) => {
                self.point(variable, &indirect::hash_table(&pairs))?;
            }
            (None, Some((variable, _))) => {
                let list = self.point(variable, &indirect::list(&pairs))?;
                if self.has_exposed_table {
                    let (pointer, _) = self.global(&c_text(indirect::EXPOSED))?;
                    self.point(pointer, &indirect::hash_table_of_pointers(&pairs, list))?;
                }
            }
            (None, None) => {
                return Err(self.image.wrong("indirect functions, and no variable for their table"));
            }
        }
        Ok(())
    }

    /// Has a variable of the image point to a copy of these words, which goes with the image; its address.
    fn point(&mut self, variable: DevicePtr, words: &[u64]) -> Result<DevicePtr> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let memory = self.check(self.device.driver.mem_alloc(bytes.len()), INDIRECT_TABLE)?;
        self.memory.push(memory);
        self.write(memory, &bytes)?;
        self.write(variable, &memory.to_le_bytes())?;
        Ok(memory)
    }

    /// The image's ICVs, as libgomp is to know them. It maps those of all images to one host address, and ends the program when there
    /// is a second one on the device. So only the first image's are told of, which libgomp fills in as soon as the image is loaded;
    /// others get the same values here.
    fn icvs(&self) -> Result<AddressPair> {
        let none = AddressPair { start: 0, end: 0 };
        let Some((start, bytes)) = self.optional(ICVS)? else { return Ok(none) };
        let Some(&(known, known_bytes)) = self.device.known_icvs.get() else {
            // Loads are one at a time, by libgomp's lock.
            let _ = self.device.known_icvs.set((start, bytes));
            return Ok(pair(start as usize, bytes));
        };
        let mut values = vec![0_u8; known_bytes];
        // SAFETY: the known variable has that many bytes; its module is never unloaded.
        let copied =
            unsafe { self.device.driver.copy_to_host(values.as_mut_ptr().cast(), known, known_bytes) };
        self.check(copied, ICVS)?;
        self.write(start, &values[..bytes.min(known_bytes)])?;
        Ok(none)
    }

    fn structors(&self, name: &str) -> Result<Option<Structors>> {
        for (suffix, needs_stack) in [("", false), ("__mgomp", true)] {
            let name = format!("{name}{suffix}");
            if self.symbols.has(&name) {
                let function = self.check(self.device.driver.function(self.module, &c_text(&name)), &name)?;
                return Ok(Some(Structors { function, needs_stack }));
            }
        }
        Ok(None)
    }

    /// Address and size of a variable that not every image has.
    fn optional(&self, name: &str) -> Result<Option<(DevicePtr, usize)>> {
        self.symbols.has(name).then(|| self.global(&c_text(name))).transpose()
    }

    fn global(&self, name: &CStr) -> Result<(DevicePtr, usize)> {
        let text = name.to_string_lossy();
        match self.device.driver.global(self.module, name) {
            Err(error) if error.code == Code::NOT_FOUND => {
                Err(self.image.wrong(format!("no variable {text}")))
            }
            found => self.check(found, &text),
        }
    }

    fn read_table(&self, name: &str, count: usize) -> Result<Vec<u64>> {
        let (start, bytes) = self.global(&c_text(name))?;
        if bytes != count * size_of::<u64>() {
            return Err(self.image.wrong(format!("{name} has {bytes} bytes for {count} functions")));
        }
        let mut table = vec![0_u64; count];
        // SAFETY: the table has that many bytes.
        let copied = unsafe { self.device.driver.copy_to_host(table.as_mut_ptr().cast(), start, bytes) };
        self.check(copied, name)?;
        Ok(table)
    }

    fn write(&self, to: DevicePtr, bytes: &[u8]) -> Result<()> {
        // SAFETY: the bytes can be read.
        let copied = unsafe { self.device.driver.copy_to_device(to, bytes.as_ptr().cast(), bytes.len()) };
        self.check(copied, "copy")
    }

    fn check<T>(&self, result: std::result::Result<T, CudaError>, what: &str) -> Result<T> {
        result.map_err(|error| {
            self.device.failed(error, || format!("offload image {}: {what}", self.image.name))
        })
    }
}

fn pair(start: usize, bytes: usize) -> AddressPair {
    AddressPair { start, end: start + bytes }
}

fn c_text(text: &str) -> CString {
    CString::new(text).expect("a name of ours")
}

fn run(device: &'static Device, structors: Structors, what: &str, image: &str) -> Result<()> {
    let name = format!("{what} of offload image {image}").into();
    let ran = launch::kernel::run_once(device, &name, structors.function, structors.needs_stack);
    ran.map_err(|error| device.kernel_failed(&name, error))
}

/// # Safety
/// Nobody uses the module or the memory any more.
unsafe fn release(device: &Device, module: Module, memory: &[DevicePtr]) {
    // Where kernels run the module stays.
    device.launch.running.if_none(|| {
        device.gate.run_blocking(|| {
            for block in memory {
                // SAFETY: the caller's promise. A failure leaves a leak that nothing can be done about.
                let _ = unsafe { device.driver.mem_free(*block) };
            }
            // SAFETY: as above.
            let _ = unsafe { device.driver.unload_module(module) };
        })
    });
}

/// Unloads an image: runs its destructors and lets go of its module.
///
/// # Errors
/// What the destructors' kernel did.
pub fn unload(device: &'static Device, address: *const c_void) -> Result<()> {
    let image = {
        let mut images = device.lock_images();
        let Some(index) = images.iter().position(|image| image.address == address as usize) else {
            return Ok(());
        };
        images.swap_remove(index)
    };
    if !device.is_idle() {
        // Nothing can be run or released; see `Device::is_idle`.
        return Ok(());
    }
    let _context = match device.enter() {
        Ok(context) => context,
        Err(Error::ShuttingDown) => return Ok(()),
        Err(error) => return Err(error),
    };
    let ran = destroy(device, &image);
    device.heap.report(device);
    if image.has_known_icvs {
        // libgomp forgets neither the variable nor to read it after each region.
        return ran;
    }
    // SAFETY: libgomp has no use of the image any more, and no kernel runs.
    unsafe { release(device, image.module, &image.memory) };
    ran
}

/// Runs an image's destructors.
///
/// # Errors
/// What the kernel did.
pub fn destroy(device: &'static Device, image: &Image) -> Result<()> {
    image.destructors.map_or(Ok(()), |destructors| run(device, destructors, "destructors", &image.name))
}
