//! The timeline in the form that chrome://tracing and Perfetto read: the JSON object format of Google's "Trace
//! Event Format".

use super::Clock;
use super::report::{Bar, What};
use super::summary::us;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Where the host threads are among the processes of the trace.
const HOST: usize = 1;
/// Where the links are.
const LINKS: usize = 2;
/// Where the first device is.
const DEVICES: usize = 3;

/// A string in JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => write!(quoted, "\\u{:04x}", u32::from(c)).expect("a string takes all"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The timeline: a row for each host thread, link, and stream that ran kernels.
pub(super) fn chrome(clock: &Clock, bars: &[Bar<'_>]) -> String {
    let platform = clock.platform;
    let stream = |queue: &u64| clock.streams.get(queue).map_or("a stream", String::as_str);
    let mut processes = BTreeMap::from([(HOST, "host threads"), (LINKS, "links")]);
    let mut rows: BTreeMap<(usize, u64), String> = BTreeMap::new();
    let mut events = Vec::new();
    for Bar { what, ready, begin, end } in bars {
        let (process, row, row_name, name, details) = match what {
            What::Queueing { thread } => {
                (HOST, *thread, format!("thread {thread}"), "enqueue", String::new())
            }
            What::Copy { from, to, bytes, queue } => {
                let place = platform.links.keys().position(|pair| *pair == (*from, *to));
                let row = place.map_or(0, |place| 1 + place as u64);
                let name = if from == to { "copy or fill" } else { "copy" };
                let link = format!("{} -> {}", platform.name(*from), platform.name(*to));
                (LINKS, row, link, name, format!("\"bytes\":{bytes},\"stream\":{}", quoted(stream(queue))))
            }
            What::Kernel { device, queue, name, blocks } => {
                processes.insert(DEVICES + device, &platform.devices[*device].name);
                (DEVICES + device, *queue, stream(queue).to_owned(), *name, format!("\"blocks\":{blocks}"))
            }
        };
        rows.entry((process, row)).or_insert(row_name);
        let waited =
            if begin > ready { format!("\"waited_us\":{}", us(begin - ready)) } else { String::new() };
        let separator = if details.is_empty() || waited.is_empty() { "" } else { "," };
        let (name, begin, time) = (quoted(name), us(*begin), us(end - begin));
        events.push(format!(
            "{{\"ph\":\"X\",\"pid\":{process},\"tid\":{row},\"name\":{name},\"ts\":{begin},\"dur\":{time},\"args\":{{{details}{separator}{waited}}}}}"
        ));
    }
    let process_names = processes.iter().map(|(pid, name)| {
        let name = quoted(name);
        format!("{{\"ph\":\"M\",\"pid\":{pid},\"name\":\"process_name\",\"args\":{{\"name\":{name}}}}}")
    });
    let row_names = rows.iter().map(|((pid, tid), name)| {
        let name = quoted(name);
        format!("{{\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"name\":\"thread_name\",\"args\":{{\"name\":{name}}}}}")
    });
    let all: Vec<String> = process_names.chain(row_names).chain(events).collect();
    format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n", all.join(",\n"))
}
