//! Functions of libgomp's device library that nearly every kernel reaches and that have nothing to do in most programs. With a body that
//! does nothing in their place, all that only they use can go: three quarters of the code that is left otherwise, and the
//! registers that a kernel must have for the hungriest function that it might call.

/// A function that has nothing to do in some images.
#[derive(Debug)]
pub struct Idle {
    /// Its name.
    pub function: &'static str,
    /// The body that does then, in PTX.
    pub body: &'static str,
    /// Whether this name, where kernels reach it, gives the function something to do.
    pub is_used_with: fn(&str) -> bool,
}

/// The functions. Each rule was read from the sources of GCC 13 to 16.
pub const IDLE: [Idle; 2] = [
    // Runs tasks. Barriers call it while a team has tasks (config/nvptx/bar.c), and only what GOMP_task, GOMP_taskloop and the like
    // and gomp_create_target_task make are counted as such (task.c, taskloop.c). The trap would show that this is wrong.
    Idle {
        function: "gomp_barrier_handle_tasks",
        body: "{\ntrap;\nexit;\n}",
        is_used_with: |name| name.starts_with("GOMP_task") || name == "gomp_create_target_task",
    },
    // Makes a hash table of the indirect functions, whose list is null where the image has none (config/accel/target-indirect.c).
    // Every kernel begins with it.
    Idle {
        function: "build_indirect_map",
        body: "{\nret;\n}",
        is_used_with: |name| name == "$offload_ind_func_table",
    },
];
