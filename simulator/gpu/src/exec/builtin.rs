//! The routines that the driver provides to device code.

use super::context::{Context, Flow};
use super::load_store::{READ, note_ordering, space};
use super::map::lanes;
use super::report::Caller;
use crate::Actor;
use crate::fault::FaultKind;
use crate::format::{self, Arguments};
use crate::ir::{Builtin, CallSite, Inst, Slot};

/// Longest string that `printf` follows, against ones without an end.
const LONGEST: u64 = 1 << 20;

/// Calls a routine for the lanes of `mask`.
pub(crate) fn call(cx: &mut Context<'_>, builtin: Builtin, site: &CallSite, mask: u32) -> Flow {
    cx.effects += 1;
    for lane in lanes(mask) {
        let argument = |n: usize| {
            site.arguments.get(n).map_or(0, |word| cx.lane::<u64>(Slot::frame(word.at as usize), lane))
        };
        let (a, b, c, d) = (argument(0), argument(1), argument(2), argument(3));
        let result = match builtin {
            Builtin::Vprintf => print(cx, lane, a, b),
            Builtin::Malloc => Ok(malloc(cx, a)),
            Builtin::Free => free(cx, lane, a),
            Builtin::AssertFail => assert_fail(cx, lane, [a, b, c, d]),
        };
        match result {
            Ok(value) => {
                if let Some(word) = site.results.first() {
                    cx.write_one(Slot::frame(word.at as usize), 1 << lane, value);
                }
            }
            Err(fault) => return fault,
        }
    }
    Flow::Next
}

fn malloc(cx: &mut Context<'_>, size: u64) -> u64 {
    let block = cx.grid.malloc(size);
    if block == 0 {
        return 0;
    }
    if let Some(races) = &mut cx.block.races {
        races.forget(block, size);
    }
    cx.grid.memory().credit(block, Actor::new(Caller::new(cx)));
    block
}

fn free(cx: &mut Context<'_>, lane: usize, addr: u64) -> Result<u64, Flow> {
    if addr == 0 {
        return Ok(0);
    }
    if cx.grid.memory().heap_free(addr).is_some() {
        cx.grid.memory().credit(addr, Actor::new(Caller::new(cx)));
        return Ok(0);
    }
    let note = format!("free of {addr:#x}, which malloc did not give or which was freed");
    Err(cx.fail(FaultKind::IllegalAddress, lane, note))
}

/// A lane's view of memory, for the arguments of `printf`.
struct Reader<'c, 'g> {
    cx: &'c mut Context<'g>,
    lane: usize,
    next: u64,
}

impl Reader<'_, '_> {
    fn byte(&mut self, addr: u64) -> Result<u8, Flow> {
        let at = self.cx.translate::<{ space::GENERIC }>(
            &Inst::new(note_ordering),
            self.lane,
            addr,
            1,
            1,
            READ,
        )?;
        // SAFETY: `translate` checked the address.
        Ok(unsafe { at.read_volatile() })
    }

    fn text(&mut self, addr: u64) -> Result<Vec<u8>, Flow> {
        let mut text = Vec::new();
        for at in addr..addr.saturating_add(LONGEST) {
            match self.byte(at)? {
                0 => break,
                byte => text.push(byte),
            }
        }
        Ok(text)
    }
}

impl Arguments for Reader<'_, '_> {
    type Error = Flow;

    fn value(&mut self, size: u64) -> Result<u64, Flow> {
        self.next = self.next.next_multiple_of(size);
        let mut value = 0;
        for n in 0..size {
            value |= u64::from(self.byte(self.next + n)?) << (8 * n);
        }
        self.next += size;
        Ok(value)
    }

    fn string(&mut self, addr: u64) -> Result<Vec<u8>, Flow> {
        self.text(addr)
    }
}

/// `vprintf`: arguments lie in memory one behind the other, each aligned to its size. Gives their number.
fn print(cx: &mut Context<'_>, lane: usize, template: u64, arguments: u64) -> Result<u64, Flow> {
    cx.refresh_views();
    let mut reader = Reader { cx, lane, next: arguments };
    let template = reader.text(template)?;
    let (text, count) = format::format(&template, &mut reader)?;
    cx.grid.print(&text);
    Ok(count)
}

fn assert_fail(
    cx: &mut Context<'_>,
    lane: usize,
    [message, file, line, function]: [u64; 4],
) -> Result<u64, Flow> {
    cx.refresh_views();
    let mut reader = Reader { cx, lane, next: 0 };
    let mut text = |addr| reader.text(addr).map(|t| String::from_utf8_lossy(&t).into_owned());
    let note = format!(
        "{}:{}: {}: assertion `{}` failed",
        text(file)?,
        line as u32,
        text(function)?,
        text(message)?
    );
    Err(cx.fail(FaultKind::Assert, lane, note))
}
