//! Links an image's PTX objects into a module.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::agree::agree;
use super::cache::Cache;
use super::compile::{compile, key, options};
use super::fences::{self, Fences};
use super::load::LOOKED_UP;
use super::prune::prune;
use super::reach::Reach;
use super::{
    Descriptor, Protocol, atomics, copies, direct, ending, first_use, heap, indirect, inject, inline, lanes,
    loads, noreturn, spin, split, spread, team, team_state, threads, weak,
};
use crate::abi::host;
use crate::device::{Device, registry};
use crate::driver::{CudaError, Module};
use crate::env::{self, PtxFiles};
use crate::error::Result;

/// An image, linked and loaded.
pub struct Linked {
    /// Its code.
    pub module: Module,
    /// How its kernels post reverse-offload requests.
    pub protocol: Protocol,
    /// Whether it uses the public device API, by which kernels call the host.
    pub calls: bool,
    /// Whether a kernel of it may print and go on.
    pub prints: bool,
    /// Its kernels that surely make no requests.
    pub quiet: HashSet<String>,
    /// Whether it has the kernel of [`first_use`].
    pub has_first_use: bool,
    /// Whether it has the variable [`indirect::EXPOSED`].
    pub has_exposed_table: bool,
}

/// Links `image` and loads it in the current context. `reverse`: whether the program requires reverse offload.
///
/// # Errors
/// What the JIT says, with its log.
pub fn link(device: &Device, image: &Descriptor<'_>, reverse: bool) -> Result<Linked> {
    let passes = &env::settings().ptx_passes;
    let texts = image.objects.iter().map(|text| exchange(image, text)).collect::<Result<Vec<_>>>()?;
    let texts = texts.into_iter().map(align_stacks).collect();
    let texts = call_directly(image, texts);
    let (texts, prints) = reduce(image, texts);
    let texts = over_all(image, texts, passes.prune, "one definition of weak ones stays", weak::settle);
    let texts = keep_reading(image, texts);
    let (texts, tables) = if image.indirect > 0 { rewrite_each(texts, indirect::expose) } else { (texts, 0) };
    let texts = over_each(image, texts, passes.copies, "small copies need no call", copies::inline);
    let texts = over_each(image, texts, passes.loads, "loops load ahead", loads::ahead);
    let may_add = passes.atomics
        && device.attrs.compute_capability >= atomics::LEAST_CAPABILITY
        && !registry::shares_memory();
    let texts =
        over_each(image, texts, may_add, "doubles are added by one instruction", atomics::add_at_once);
    let texts = share_team_state(image, texts);
    let texts = weaken_fences(device, image, texts);
    // Before lanes do different things.
    let (texts, lanes_agree) = have_lanes_agree(image, texts);
    let texts = over_all(image, texts, passes.team, "lanes start teams together", spread::over_lanes);
    let quiet = strs(&texts).filter(|_| reverse).map(|objects| inject::quiet_kernels(&objects));
    let (texts, protocol, calls) = add_runtime(device, texts, reverse);
    let (texts, lanes_bytes) = part_lanes(device, image, texts);
    let (texts, has_heap) = add_heap(device, image, texts);
    let may_share = lanes_agree && has_heap;
    let texts = if may_share { share_teams(device, image, texts, lanes_bytes) } else { texts };
    let may_end =
        passes.team && device.driver.version().is_ok_and(|version| version >= noreturn::LEAST_DRIVER);
    let texts = over_all(image, texts, may_end, "threads end without a return", noreturn::end_threads);
    let mut texts =
        over_all(image, texts, passes.inline, "functions stand where they are called", inline::inline);
    let strings = texts.iter().filter_map(|text| text.to_str().ok());
    let first_use = if reverse || calls { first_use::object(strings) } else { None };
    let has_first_use = first_use.is_some();
    texts.extend(first_use.map(owned));
    let jit = options(image, &texts);
    let texts = split_large(image, texts);
    let cache =
        env::settings().cache.as_deref().map(|folder| (Cache::new(folder), key(device, &texts, &jit)));
    let kept = cache.as_ref().and_then(|(cache, key)| cache.get(key));
    let module = match kept.map(|cubin| load(device, image, &cubin)).transpose()? {
        Some(Ok(module)) => {
            host::debug(|| format!("offload image {}: compiled before", image.name));
            module
        }
        // Also what a driver refuses that once made it.
        None | Some(Err(_)) => {
            let started = Instant::now();
            let cubin = compile(device, image, &texts, &jit)?;
            host::debug(|| format!("offload image {}: compiled in {:?}", image.name, started.elapsed()));
            let module = load(device, image, &cubin)?
                .map_err(|error| device.failed(error, || format!("offload image {}", image.name)))?;
            cache.iter().for_each(|(cache, key)| cache.put(key, &cubin));
            module
        }
    };
    if has_heap {
        device.heap.attach(device, module).inspect_err(|_| {
            // SAFETY: nobody has heard of the module yet. The first error matters more than one of this call.
            let _ = unsafe { device.driver.unload_module(module) };
        })?;
    }
    Ok(Linked {
        module,
        protocol,
        calls,
        prints,
        quiet: quiet.unwrap_or_default(),
        has_first_use,
        has_exposed_table: tables > 0,
    })
}

/// Loads a cubin that the linker made.
fn load(
    device: &Device,
    image: &Descriptor<'_>,
    cubin: &[u8],
) -> Result<std::result::Result<Module, CudaError>> {
    // SAFETY: a complete cubin.
    let load = || unsafe { device.driver.load_module(cubin.as_ptr().cast()) };
    device
        .launch
        .running
        .when_none(|| device.reverse.under_service() > 0, || device.gate.run_blocking(load))
        .ok_or_else(|| image.wrong("cannot be loaded while a kernel waits for a reverse-offload block"))
}

/// Gives the stacks of lanes in SIMD regions the alignment that functions count on.
fn align_stacks(text: Cow<'_, CStr>) -> Cow<'_, CStr> {
    let aligned = text.to_str().ok().and_then(lanes::align_stacks);
    aligned.map_or(text, owned)
}

/// Has kernels call their function themselves where they can.
fn call_directly<'a>(image: &Descriptor<'_>, texts: Vec<Cow<'a, CStr>>) -> Vec<Cow<'a, CStr>> {
    if !env::settings().ptx_passes.direct {
        return texts;
    }
    let rewritten = strs(&texts).and_then(|objects| direct::call_directly(&objects));
    let kernels = rewritten.as_ref().map_or(0, |(_, kernels)| *kernels);
    host::debug(|| format!("offload image {}: {kernels} kernels call their function directly", image.name));
    rewritten.map_or(texts, |(rewritten, _)| rewritten.into_iter().map(owned).collect())
}

/// Leaves out of the texts what no kernel reaches, and tells whether a kernel may print and go on.
fn reduce<'a>(image: &Descriptor<'_>, texts: Vec<Cow<'a, CStr>>) -> (Vec<Cow<'a, CStr>>, bool) {
    if !env::settings().ptx_passes.prune {
        return (texts, true);
    }
    let pruned = || {
        let objects = strs(&texts)?;
        let variables = image.variables.iter().map(|name| name.to_str().ok());
        let names: Vec<&str> = variables.chain(LOOKED_UP.map(Some)).collect::<Option<_>>()?;
        let reach = Reach::of(&objects, &names)?;
        Some((prune(&objects, &reach), reach.prints))
    };
    let Some((pruned, prints)) = pruned() else {
        host::debug(|| {
            format!("offload image {}: device code of unknown form, compiled as it is", image.name)
        });
        return (texts, true);
    };
    host::debug(|| {
        let before: usize = texts.iter().map(|text| text.to_bytes().len()).sum();
        let after: usize = pruned.iter().map(String::len).sum();
        let (name, objects) = (&image.name, pruned.len());
        format!("offload image {name}: kernels reach {after} of {before} bytes, in {objects} PTX objects")
    });
    (pruned.into_iter().map(owned).collect(), prints)
}

/// Rewrites each text that there is something to do in; also tells how many these were.
fn rewrite_each<'a>(
    texts: Vec<Cow<'a, CStr>>,
    rewrite: impl Fn(&str) -> Option<String>,
) -> (Vec<Cow<'a, CStr>>, usize) {
    let rewritten: Vec<_> = texts.iter().map(|text| rewrite(text.to_str().ok()?)).collect();
    let objects = rewritten.iter().flatten().count();
    (replaced(texts, rewritten), objects)
}

/// Rewrites each text that there is something to do in, if that `is_made`, and says in how many `what` is so.
fn over_each<'a>(
    image: &Descriptor<'_>,
    texts: Vec<Cow<'a, CStr>>,
    is_made: bool,
    what: &str,
    rewrite: impl Fn(&str) -> Option<String>,
) -> Vec<Cow<'a, CStr>> {
    if !is_made {
        return texts;
    }
    let (texts, objects) = rewrite_each(texts, rewrite);
    host::debug(|| format!("offload image {}: {what} in {objects} objects", image.name));
    texts
}

/// As above, for what has to know all texts. None of them changes where one has a form that isn't known.
fn over_all<'a>(
    image: &Descriptor<'_>,
    texts: Vec<Cow<'a, CStr>>,
    is_made: bool,
    what: &str,
    rewrite: impl Fn(&[&str]) -> Option<Vec<Option<String>>>,
) -> Vec<Cow<'a, CStr>> {
    if !is_made {
        return texts;
    }
    let rewritten = strs(&texts).and_then(|objects| rewrite(&objects));
    let objects = rewritten.iter().flatten().flatten().count();
    host::debug(|| format!("offload image {}: {what} in {objects} objects", image.name));
    match rewritten {
        Some(rewritten) => replaced(texts, rewritten),
        None => texts,
    }
}

/// Has loops that wait for memory read it in every turn.
fn keep_reading<'a>(image: &Descriptor<'_>, texts: Vec<Cow<'a, CStr>>) -> Vec<Cow<'a, CStr>> {
    let (texts, objects) = rewrite_each(texts, spin::keep_reading);
    if objects > 0 {
        host::debug(|| format!("offload image {}: loops wait for memory in {objects} objects", image.name));
    }
    texts
}

/// Gives each team its own number of teams and ICVs: kernels of the image may run at the same time.
fn share_team_state<'a>(image: &Descriptor<'_>, texts: Vec<Cow<'a, CStr>>) -> Vec<Cow<'a, CStr>> {
    let Some(shared) = strs(&texts).and_then(|objects| team_state::share(&objects)) else {
        host::debug(|| format!("offload image {}: kernels share what libgomp keeps for teams", image.name));
        return texts;
    };
    replaced(texts, shared)
}

/// Gives the fences of libgomp's objects device scope.
fn weaken_fences<'a>(
    device: &Device,
    image: &Descriptor<'_>,
    texts: Vec<Cow<'a, CStr>>,
) -> Vec<Cow<'a, CStr>> {
    let is_right = device.attrs.compute_capability >= fences::LEAST_CAPABILITY && !registry::shares_memory();
    if !env::settings().ptx_passes.fences || !is_right {
        return texts;
    }
    let (mut weakened, mut left) = (vec![], vec![]);
    let weaken = |text: Cow<'a, CStr>| {
        let result = text.to_str().map_or(Fences::None, fences::weaken);
        match result {
            Fences::None => text,
            Fences::Left(name) => {
                left.push(name);
                text
            }
            Fences::Weakened(name, other) => {
                weakened.push(name);
                owned(other)
            }
        }
    };
    let texts = texts.into_iter().map(weaken).collect();
    host::debug(|| {
        let list = |names: &[String]| format!("{} objects ({})", names.len(), names.join(", "));
        format!(
            "offload image {}: fences weakened in {}, left in {}",
            image.name,
            list(&weakened),
            list(&left)
        )
    });
    texts
}

/// Has lanes see one value of what others change in shared memory, as teams need that are to lie there. Also tells whether that was possible.
fn have_lanes_agree<'a>(image: &Descriptor<'_>, texts: Vec<Cow<'a, CStr>>) -> (Vec<Cow<'a, CStr>>, bool) {
    if !env::settings().ptx_passes.team {
        return (texts, false);
    }
    let agreed: Option<Vec<_>> = texts.iter().map(|text| agree(text.to_str().ok()?)).collect();
    match agreed {
        Some(agreed) => (replaced(texts, agreed), true),
        None => {
            host::debug(|| {
                format!("offload image {}: team structures stay: code of unknown form", image.name)
            });
            (texts, false)
        }
    }
}

/// Gives each lane its own soft-stack pointer where lanes may run ahead of others in SIMD regions. Also tells how much shared memory that takes.
fn part_lanes<'a>(
    device: &Device,
    image: &Descriptor<'_>,
    texts: Vec<Cow<'a, CStr>>,
) -> (Vec<Cow<'a, CStr>>, u32) {
    let may_part = || strs(&texts).is_none_or(|objects| lanes::may_part(&objects));
    if device.attrs.compute_capability < lanes::LEAST_CAPABILITY || !may_part() {
        return (texts, 0);
    }
    let has_room = device.lowlat_pool() <= lanes::MOST_DYNAMIC;
    let parted = strs(&texts).filter(|_| has_room).and_then(|objects| lanes::part(&objects));
    host::debug(|| {
        let what = match (&parted, has_room) {
            (Some(_), _) => "each lane has its own soft-stack pointer",
            (None, true) => "lanes that part in SIMD regions may fail: device code of unknown form",
            (None, false) => {
                "lanes that part in SIMD regions may fail: GOMP_NVPTX_LOWLAT_POOL leaves no room"
            }
        };
        format!("offload image {}: {what}", image.name)
    });
    match parted {
        Some(parted) => (replaced(texts, parted), lanes::BYTES),
        None => (texts, 0),
    }
}

/// Puts our heap in place of the driver's, where device code uses it.
fn add_heap<'a>(
    device: &Device,
    image: &Descriptor<'_>,
    texts: Vec<Cow<'a, CStr>>,
) -> (Vec<Cow<'a, CStr>>, bool) {
    if !env::settings().ptx_passes.heap {
        return (texts, false);
    }
    let redirected = strs(&texts).ok_or(heap::Kept::UnknownForm).and_then(|objects| heap::redirect(&objects));
    let redirected = match redirected {
        Ok(redirected) => redirected,
        Err(kept) => {
            host::debug(|| format!("offload image {}: the driver's heap stays: {kept}", image.name));
            return (texts, false);
        }
    };
    let objects = redirected.iter().flatten().count();
    let mut texts = replaced(texts, redirected);
    host::debug(|| format!("offload image {}: heap put into {objects} objects", image.name));
    texts.push(owned(heap::runtime(device.attrs.compute_capability).into()));
    (texts, true)
}

/// Moves what libgomp allocates as a team starts into shared memory.
fn share_teams<'a>(
    device: &Device,
    image: &Descriptor<'_>,
    texts: Vec<Cow<'a, CStr>>,
    lanes_bytes: u32,
) -> Vec<Cow<'a, CStr>> {
    if !env::settings().ptx_passes.team || device.lowlat_pool() > team::MOST_DYNAMIC - lanes_bytes {
        return texts;
    }
    let shared = strs(&texts).and_then(|objects| team::share(&objects));
    host::debug(|| {
        let place = if shared.is_some() { "shared memory" } else { "device memory, as they were" };
        format!("offload image {}: team structures lie in {place}", image.name)
    });
    let Some(shared) = shared else { return texts };
    let runtime = team::runtime(device.attrs.compute_capability).to_owned();
    let shared = shared.into_iter().chain([runtime]).map(owned).collect();
    let shared = over_each(image, shared, true, "threads lie in shared memory", threads::share);
    over_all(image, shared, true, "teams end sooner", ending::shorten)
}

/// Has large texts compiled in parts.
fn split_large<'a>(image: &Descriptor<'_>, texts: Vec<Cow<'a, CStr>>) -> Vec<Cow<'a, CStr>> {
    if !env::settings().ptx_passes.prune {
        return texts;
    }
    let parts = |(number, text): (usize, Cow<'a, CStr>)| {
        let parts = text.to_str().ok().and_then(|text| split::split(text, number));
        if let Some(parts) = &parts {
            host::debug(|| format!("offload image {}: object {number} in {} parts", image.name, parts.len()));
        }
        parts.map_or(vec![text], |parts| parts.into_iter().map(owned).collect())
    };
    texts.into_iter().enumerate().flat_map(parts).collect()
}

/// The texts as the passes take them; none where one isn't UTF-8.
fn strs<'a>(texts: &'a [Cow<'_, CStr>]) -> Option<Vec<&'a str>> {
    texts.iter().map(|text| text.to_str().ok()).collect()
}

/// The texts, each with what is to stand in its place if anything is.
fn replaced<'a>(texts: Vec<Cow<'a, CStr>>, by: Vec<Option<String>>) -> Vec<Cow<'a, CStr>> {
    texts.into_iter().zip(by).map(|(text, other)| other.map_or(text, owned)).collect()
}

/// A text that was made from C strings.
fn owned<'a>(text: String) -> Cow<'a, CStr> {
    Cow::Owned(CString::new(text).expect("no NUL inside"))
}

/// Puts our device runtime in place of libgomp's, where `reverse` offload is required, the texts have the form for it and the user leaves
/// it to us, and adds what the public device API needs. Also tells whether that is used: it knows no other protocol.
fn add_runtime<'a>(
    device: &Device,
    texts: Vec<Cow<'a, CStr>>,
    reverse: bool,
) -> (Vec<Cow<'a, CStr>>, Protocol, bool) {
    let injected = strs(&texts).and_then(|objects| inject::inject(&objects));
    let ring = reverse && env::settings().ring;
    let Some(injected) = injected.filter(|injected| ring || injected.calls()) else {
        return (texts, Protocol::Slot, false);
    };
    let (calls, protocol) = (injected.calls(), Protocol::Ring { tells_end: injected.tells_end });
    let texts = injected.objects(device.attrs.compute_capability).map(|text| owned(text.into_owned()));
    (texts.collect(), protocol, calls)
}

/// Writes a text to the next file of GOMP_NVPTX_PTXRW, or takes it from there.
fn exchange<'a>(image: &Descriptor<'_>, text: &'a CStr) -> Result<Cow<'a, CStr>> {
    let mode = env::settings().ptx_files;
    if mode == PtxFiles::Off {
        return Ok(Cow::Borrowed(text));
    }
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Relaxed: only the number itself counts.
    let path = format!("gomp-nvptx.{}.ptx", NEXT.fetch_add(1, Ordering::Relaxed));
    let wrong = |error: &dyn std::fmt::Display| image.wrong(format!("GOMP_NVPTX_PTXRW: {path}: {error}"));
    if mode == PtxFiles::Write {
        std::fs::write(&path, text.to_bytes()).map_err(|error| wrong(&error))?;
        return Ok(Cow::Borrowed(text));
    }
    let read = std::fs::read(&path).map_err(|error| wrong(&error))?;
    Ok(Cow::Owned(CString::new(read).map_err(|error| wrong(&error))?))
}
