//! Offload images: what mkoffload put into the program, made into loaded modules.

/// The PTX of an object of our device runtime, for a device of this compute capability, as `sm_` names it.
macro_rules! device_object {
    ($name:literal, $compute_capability:expr) => {
        if $compute_capability >= 70 {
            include_str!(concat!("../../device-runtime/ptx/", $name, ".sm_70.ptx"))
        } else {
            include_str!(concat!("../../device-runtime/ptx/", $name, ".sm_30.ptx"))
        }
    };
}

pub mod accesses;
pub mod agree;
pub mod atomics;
pub mod cache;
pub mod calls;
pub mod code;
pub mod compile;
pub mod copies;
pub mod descriptor;
pub mod direct;
pub mod edit;
pub mod ending;
pub mod epilogue;
pub mod fences;
pub mod first_use;
pub mod heap;
pub mod idle;
pub mod indirect;
pub mod inject;
pub mod inline;
pub mod items;
pub mod lanes;
pub mod link;
pub mod load;
pub mod loads;
pub mod names;
pub mod noreturn;
pub mod pressure;
pub mod prune;
pub mod reach;
pub mod spin;
mod split;
pub mod spread;
pub mod symbols;
pub mod team;
pub mod team_state;
pub mod threads;
pub mod tokens;
mod weak;

use std::sync::Arc;

use crate::driver::{DevicePtr, Function, Module};
use crate::launch::dims::Residents;

pub use descriptor::Descriptor;
pub use load::{load, unload};

/// How the kernels of an image post reverse-offload requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Through the device library that GCC links: one slot for the whole device.
    Slot,
    /// Through our device runtime: many slots for each region.
    Ring {
        /// Whether they say when they are about to end, where they are asked to (`epilogue`).
        tells_end: bool,
    },
}

/// A kernel: one target region of the program. Its address is what libgomp knows it by.
#[derive(Debug)]
pub struct Kernel {
    /// Its name in the image.
    pub name: Arc<str>,
    /// The loaded function; [`Function::NONE`] when the image promised it and does not have it.
    pub function: Function,
    /// Threads that a block of it can have.
    pub block_threads: u32,
    /// How many teams of it a multiprocessor can hold.
    pub residents: Residents,
    /// Gangs, workers and vector length that an OpenACC kernel was compiled for; 0 where the compiler left them open.
    pub dims: [u16; 3],
    /// How it makes reverse-offload requests, if it may make any.
    pub requests: Option<Protocol>,
    /// Whether a kernel of its image may print and go on: what it printed is then shown at its end.
    pub prints: bool,
}

impl Kernel {
    /// Whether it can be launched.
    pub fn is_loaded(&self) -> bool {
        self.function != Function::NONE
    }
}

/// An image that is loaded on a device.
pub struct Image {
    /// Where the program keeps it: what libgomp knows it by.
    pub address: usize,
    /// In words.
    pub name: String,
    /// The linked code.
    pub module: Module,
    /// Its kernels.
    pub kernels: Arc<[Kernel]>,
    /// Runs the destructors of the program's device variables.
    pub destructors: Option<load::Structors>,
    /// Device memory that goes with the image.
    pub memory: Vec<DevicePtr>,
    /// Whether libgomp knows its ICVs: it reads them as long as the process lives.
    pub has_known_icvs: bool,
}

impl Image {
    /// The index of the kernel that libgomp knows by `address`.
    pub fn kernel_index(&self, address: usize) -> Option<usize> {
        let first = self.kernels.as_ptr() as usize;
        let offset = address.checked_sub(first)?;
        let index = offset / size_of::<Kernel>();
        (offset % size_of::<Kernel>() == 0 && index < self.kernels.len()).then_some(index)
    }
}

/// A kernel that stays alive as long as this does, whatever becomes of its image.
#[derive(Clone)]
pub struct KernelRef {
    kernels: Arc<[Kernel]>,
    index: usize,
}

impl KernelRef {
    /// Whether both are the same kernel of one image.
    pub fn is(&self, other: &KernelRef) -> bool {
        self.index == other.index && Arc::ptr_eq(&self.kernels, &other.kernels)
    }
}

impl std::ops::Deref for KernelRef {
    type Target = Kernel;
    fn deref(&self) -> &Kernel {
        &self.kernels[self.index]
    }
}

/// The kernel among `images` that libgomp knows by `address`.
pub fn find_kernel(images: &[Image], address: usize) -> Option<KernelRef> {
    images.iter().find_map(|image| {
        let index = image.kernel_index(address)?;
        Some(KernelRef { kernels: Arc::clone(&image.kernels), index })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(kernels: usize) -> Image {
        let kernel = |i| Kernel {
            name: format!("k{i}").into(),
            function: Function::NONE,
            block_threads: 1,
            residents: Residents::default(),
            dims: [0; 3],
            requests: None,
            prints: false,
        };
        Image {
            address: 0,
            name: String::new(),
            module: Module(std::ptr::null_mut()),
            kernels: (0..kernels).map(kernel).collect(),
            destructors: None,
            memory: vec![],
            has_known_icvs: false,
        }
    }

    #[test]
    fn a_kernel_is_known_by_its_own_address_and_no_other() {
        let images = [image(3), image(2)];
        for image in &images {
            for kernel in image.kernels.iter() {
                let address = std::ptr::from_ref(kernel) as usize;
                assert_eq!(find_kernel(&images, address).expect("known").name, kernel.name);
                assert!(find_kernel(&images, address + 1).is_none());
            }
            let end = image.kernels.as_ptr_range().end as usize;
            assert!(image.kernel_index(end).is_none());
        }
        assert!(find_kernel(&images, 0).is_none());
    }

    #[test]
    fn a_kernel_outlives_its_image() {
        let images = [image(1)];
        let address = images[0].kernels.as_ptr() as usize;
        let kernel = find_kernel(&images, address).expect("known");
        drop(images);
        assert_eq!(&*kernel.name, "k0");
    }
}
