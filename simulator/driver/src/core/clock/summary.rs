//! How much time went into each kernel and each link.

use super::report::{Bar, What};
use crate::platform::{Description, Site};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What was done of one kind. Times in ns.
#[derive(Default)]
struct Sum {
    count: u64,
    bytes: u64,
    busy: u64,
    waited: u64,
    shortest: Option<u64>,
    longest: u64,
}

impl Sum {
    fn add(&mut self, bar: &Bar<'_>, bytes: u64) {
        let time = bar.end - bar.begin;
        self.count += 1;
        self.bytes += bytes;
        self.busy += time;
        self.waited += bar.begin - bar.ready;
        self.shortest = Some(self.shortest.map_or(time, |shortest| shortest.min(time)));
        self.longest = self.longest.max(time);
    }
}

/// Microseconds with all of their digits.
pub(super) fn us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

fn plural(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

/// The lines of the summary.
pub(super) fn text(platform: &Description, bars: &[Bar<'_>], open: usize) -> String {
    let mut kernels: BTreeMap<(&str, usize), Sum> = BTreeMap::new();
    let mut links: BTreeMap<(Site, Site), Sum> = BTreeMap::new();
    for bar in bars {
        match bar.what {
            What::Queueing { .. } => {}
            What::Copy { from, to, bytes, .. } => links.entry((from, to)).or_default().add(bar, bytes),
            What::Kernel { device, name, .. } => kernels.entry((name, device)).or_default().add(bar, 0),
        }
    }
    let end = bars.iter().map(|bar| bar.end).max().unwrap_or(0);
    let mut text = format!("boomerang-sim: virtual time: {} us\n", us(end));
    for ((name, device), sum) in kernels {
        let (device, launches) = (&platform.devices[device].name, plural(sum.count, "launch", "launches"));
        let (shortest, longest) = (us(sum.shortest.unwrap_or(0)), us(sum.longest));
        let _ = writeln!(
            text,
            "boomerang-sim: kernel {name} on {device}: {launches}, {} us, each {shortest} to {longest} us",
            us(sum.busy)
        );
    }
    for ((from, to), sum) in links {
        let copies = plural(sum.count, "copy", "copies");
        let _ = writeln!(
            text,
            "boomerang-sim: link {} -> {}: {copies}, {} bytes, {} us, {} us of waiting for others",
            platform.name(from),
            platform.name(to),
            sum.bytes,
            us(sum.busy),
            us(sum.waited)
        );
    }
    if open > 0 {
        let what = plural(open as u64, "operation", "operations");
        let _ = writeln!(text, "boomerang-sim: {what} had not ended");
    }
    text
}
