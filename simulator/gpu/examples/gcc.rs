use boomerang_gpu::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

// gcc DIR KERNEL TEAMS THREADS init...   (each init: a number count of doubles buffer "d1000" or ints "i1" or scalar value)
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut files: Vec<_> = std::fs::read_dir(&a[1]).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let t = Instant::now();
    let texts: Vec<String> = files.iter().map(|f| std::fs::read_to_string(f).unwrap()).collect();
    let modules = texts.iter().zip(&files).map(|(t, f)| boomerang_ptx::parse(t).unwrap_or_else(|e| panic!("{f:?}: {e}"))).collect();
    eprintln!("parse {:?}", t.elapsed());
    let t = Instant::now();
    let program = boomerang_ptx::link(modules).unwrap_or_else(|e| panic!("{e}"));
    eprintln!("link {:?}", t.elapsed());
    let t = Instant::now();
    let memory = Arc::new(Memory::new(&[16 << 30]).unwrap());
    let workers = std::env::var("W").map_or(1, |w| w.parse().unwrap());
    let seed = std::env::var("SEED").map_or(0, |w| w.parse().unwrap());
    let device = Device::new(DeviceConfig { multiprocessors: 4, workers, seed, ..DeviceConfig::default() }, memory.clone());
    let objects = texts.iter().zip(&files).map(|(t, f)| Object { name: f.file_name().unwrap().to_string_lossy().into(), text: t.clone() }).collect();
    let module = Module::load(&program, objects, &device).unwrap_or_else(|e| panic!("{e}"));
    eprintln!("load {:?}", t.elapsed());
    if a.len() < 3 { return; }
    let kernel = module.kernel(&a[2]).expect("kernel");
    let (teams, threads): (u32, u32) = (a[3].parse().unwrap(), a[4].parse().unwrap());
    let stack = 128u64 << 10;
    let stacks = memory.alloc_device(0, stack * u64::from(teams * threads), 256).unwrap();
    let mut args = vec![];
    let mut buffers = vec![];
    for i in &a[5..] {
        let n: u64 = i[1..].parse().unwrap();
        match &i[..1] {
            "d" | "i" => {
                let size = if i.starts_with('d') { 8 } else { 4 };
                let b = memory.alloc_device(0, n * size, 256).unwrap();
                let d: Vec<f64> = (0..n).map(|x| x as f64).collect();
                if size == 8 { unsafe { memory.copy(b, d.as_ptr() as u64, n * size).unwrap(); } }
                args.push(b);
                buffers.push((b, n, size));
            }
            _ => args.push(n),
        }
    }
    let argbuf = memory.alloc_device(0, 256, 256).unwrap();
    unsafe { memory.copy(argbuf, args.as_ptr() as u64, args.len() as u64 * 8).unwrap() };
    let params: Vec<u8> = [argbuf, stacks, stack].iter().flat_map(|p| p.to_le_bytes()).collect();
    for _ in 0..2 {
    let t = Instant::now();
    let r = run_grid(&Launch { kernel: &kernel, grid: [teams, 1, 1], block: [32, threads, 1], dynamic_shared: 8192, params: &params }, &AtomicBool::new(false));
    let e = t.elapsed();
    print!("{}", String::from_utf8_lossy(&device.drain_printf()));
    match r {
        Ok(s) => println!("ok {e:?} {s:?} {:.1} M thread-instr/s", s.thread_instructions as f64 / e.as_secs_f64() / 1e6),
        Err(f) => println!("FAULT {f}"),
    }}
    for (b, n, size) in buffers {
        let k = n.min(8) as usize;
        if size == 8 { let mut v = vec![0f64; k]; unsafe { memory.copy(v.as_mut_ptr() as u64, b, 8 * k as u64).unwrap() }; println!("{v:?}"); }
        else { let mut v = vec![0i32; k]; unsafe { memory.copy(v.as_mut_ptr() as u64, b, 4 * k as u64).unwrap() }; println!("{v:?}"); }
    }
}
