//! Who called the driver, in the program's terms, for reports of what was allocated and freed where.

use std::backtrace::Backtrace;
use std::fmt;

/// The calls under way when it was made.
pub struct Caller(Backtrace);

/// A call in a backtrace.
struct Frame<'a> {
    function: &'a str,
    source: Option<&'a str>,
}

impl Caller {
    /// The calls of this thread.
    pub fn here() -> Caller {
        Caller(Backtrace::force_capture())
    }
}

/// The calls in a backtrace's text, innermost first: `  12: function`, and below `at file:line:column` if that is known.
fn frames(text: &str) -> Vec<Frame<'_>> {
    let mut frames: Vec<Frame<'_>> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(source) = line.strip_prefix("at ") {
            // The column is of no use.
            let source = source.rsplit_once(':').map_or(source, |(place, _)| place);
            frames.last_mut().into_iter().for_each(|frame| frame.source = Some(source));
        } else if let Some((_, function)) = line.split_once(": ") {
            frames.push(Frame { function, source: None });
        }
    }
    frames
}

/// Whether a function is one that programs call in libgomp.
fn is_public(function: &str) -> bool {
    ["omp_", "GOMP_", "acc_", "GOACC_"].iter().any(|start| function.starts_with(start))
        && !function.starts_with("GOMP_OFFLOAD_")
}

/// Whether it is the simulator's, the plugin's or libgomp's own.
fn is_internal(frame: &Frame<'_>) -> bool {
    let Frame { function, source } = frame;
    let inside = ["GOMP_OFFLOAD_", "GOMP_PLUGIN_", "gomp_", "goacc_", "__rust", "<unknown>"];
    source.is_some_and(|source| source.contains(".rs:"))
        || function.contains("::")
        || inside.iter().any(|start| function.starts_with(start))
        || function.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let frames = frames(&text);
        let mut outside = frames.iter().filter(|frame| !is_internal(frame)).peekable();
        let mut entry = None;
        while let Some(frame) = outside.next_if(|frame| is_public(frame.function)) {
            entry = Some(frame.function);
        }
        let caller = outside.next();
        match (entry, caller) {
            (Some(entry), None) => f.write_str(entry),
            (None, None) => f.write_str("the program"),
            (entry, Some(Frame { function, source })) => {
                if let Some(entry) = entry {
                    write!(f, "{entry} in ")?;
                }
                write!(f, "{function}")?;
                source.map_or(Ok(()), |source| write!(f, ", {source}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backtrace_is_read_from_the_inside_out() {
        let text = "   0: cuda::core::memory::free\n             at ./src/core/memory.rs:12:5\n   1: cuMemFree_v2\n   \
                    2: omp_target_free\n   3: main\n             at /home/me/prog.c:23:7\n   4: <unknown>\n";
        let found = frames(text);
        assert_eq!(found.len(), 5);
        assert_eq!((found[3].function, found[3].source), ("main", Some("/home/me/prog.c:23")));
        let outside: Vec<_> = found.iter().filter(|f| !is_internal(f)).map(|f| f.function).collect();
        assert_eq!(outside, ["omp_target_free", "main"]);
    }
}
