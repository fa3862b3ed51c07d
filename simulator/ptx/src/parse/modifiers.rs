//! Modifiers, by class. A form lists the classes it takes; a word is taken by the first of them that knows it.

use super::forms::Form;
use super::takes::takes;
use super::{Parser, Result};
use crate::ast::{self, BoolOp, Mode, Modifiers, Opcode};

/// A class of modifiers, of which an instruction has at most one (of types, three).
#[derive(Clone, Copy)]
pub(super) enum Class {
    Type,
    Vector,
    Space,
    Semantics,
    Scope,
    Cache,
    /// Eviction priorities, prefetch sizes and cache policies, which do not change results: skipped.
    CacheHint,
    Compare,
    Combine,
    Rounding,
    Part,
    Atomic,
    Shuffle,
    Vote,
    Match,
    Barrier,
    FloatTest,
    Permute,
    Direction,
    CacheLevel,
    Video,
    Selector,
    Overflow,
    /// What makes a fence one between proxies.
    Proxy,
    /// Any of these flags.
    Flags(&'static [&'static str]),
    /// Words without meaning of their own.
    Words(&'static [&'static str]),
}

impl Parser<'_> {
    /// The modifiers of `opcode`.
    pub(super) fn modifiers(&mut self, opcode: Opcode, form: &Form) -> Result<Modifiers> {
        let mut modifiers = Modifiers::default();
        while let Some(word) = self.token.dotted() {
            let types = modifiers.types.iter().flatten().count();
            if !form.classes.iter().any(|class| class.accept(word, &mut modifiers)) {
                return Err(self.error(format!("a modifier of `{opcode}`")));
            }
            if modifiers.types.get(types).copied().flatten().is_some_and(|ty| !takes(opcode, types, ty)) {
                return Err(self.error(format!("a type that `{opcode}` takes")));
            }
            self.advance();
        }
        let types = modifiers.types.iter().flatten().count();
        if types < form.types.0 || types > form.types.1 {
            let (least, plural) = (form.types.0, if form.types.0 == 1 { "" } else { "s" });
            return Err(self.error_at(self.last, format!("{least} type{plural} on `{opcode}`")));
        }
        Ok(modifiers)
    }
}

/// Fills an empty slot; false if there is no value, or the slot is taken.
fn fill<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    let fits = slot.is_none() && value.is_some();
    if fits {
        *slot = value;
    }
    fits
}

impl Class {
    /// Stores `word` if it belongs to this class.
    fn accept(self, word: &str, to: &mut Modifiers) -> bool {
        match self {
            Class::Type => {
                let free = to.types.iter_mut().find(|ty| ty.is_none());
                free.is_some_and(|slot| fill(slot, ast::Type::from_word(word)))
            }
            Class::Vector => fill(&mut to.vector, ast::Vector::from_word(word)),
            Class::Space => fill(&mut to.space, space(word)),
            Class::Semantics => match (to.semantics, ast::Semantics::from_word(word)) {
                // `.mmio` stands before `.relaxed`, which it implies.
                (Some(ast::Semantics::Mmio), Some(ast::Semantics::Relaxed)) => true,
                (_, semantics) => fill(&mut to.semantics, semantics),
            },
            Class::Scope if word == "gl" => fill(&mut to.scope, Some(ast::Scope::Gpu)),
            Class::Scope => fill(&mut to.scope, ast::Scope::from_word(word)),
            Class::Cache => fill(&mut to.cache, ast::CacheOp::from_word(word)),
            Class::CacheHint => word.starts_with("L1::") || word.starts_with("L2::"),
            Class::Compare => fill(&mut to.compare, ast::Compare::from_word(word)),
            Class::Combine => fill(&mut to.combine, BoolOp::from_word(word)),
            Class::Rounding => fill(&mut to.rounding, ast::Rounding::from_word(word)),
            Class::Part => fill(&mut to.part, ast::Part::from_word(word)),
            Class::Atomic => fill(&mut to.mode, ast::AtomicOp::from_word(word).map(Mode::Atomic)),
            Class::Shuffle => fill(&mut to.mode, ast::Shuffle::from_word(word).map(Mode::Shuffle)),
            Class::Vote => fill(&mut to.mode, ast::Vote::from_word(word).map(Mode::Vote)),
            Class::Match => fill(&mut to.mode, ast::Match::from_word(word).map(Mode::Match)),
            Class::Barrier => fill(&mut to.mode, ast::Barrier::from_word(word).map(Mode::Barrier)),
            Class::FloatTest => fill(&mut to.mode, ast::FloatTest::from_word(word).map(Mode::FloatTest)),
            Class::Permute => fill(&mut to.mode, ast::Permute::from_word(word).map(Mode::Permute)),
            Class::Direction => fill(&mut to.mode, ast::Direction::from_word(word).map(Mode::Direction)),
            Class::CacheLevel => fill(&mut to.mode, ast::CacheLevel::from_word(word).map(Mode::CacheLevel)),
            Class::Video => fill(&mut to.video, ast::VideoOp::from_word(word)),
            Class::Selector => fill(&mut to.selector, ast::Selector::from_word(word)),
            Class::Overflow => fill(&mut to.overflow, ast::Overflow::from_word(word)),
            Class::Proxy => {
                let known = matches!(word, "proxy" | "alias" | "mbarrier_init") || word.starts_with("async");
                to.flags.proxy |= known;
                known
            }
            Class::Flags(words) => words.contains(&word) && set_flag(&mut to.flags, word),
            Class::Words(words) => words.contains(&word),
        }
    }
}

/// A state space, with the sub-spaces of the shared and parameter spaces.
pub(super) fn space(word: &str) -> Option<ast::Space> {
    match word {
        "shared::cta" | "shared::cluster" => Some(ast::Space::Shared),
        "param::entry" | "param::func" => Some(ast::Space::Param),
        "reg" => None,
        _ => ast::Space::from_word(word),
    }
}

/// Sets the flag spelled `word`; false if it is set already.
fn set_flag(flags: &mut ast::Flags, word: &str) -> bool {
    let flag = match word {
        "sat" => &mut flags.sat,
        "satfinite" => &mut flags.satfinite,
        "ftz" => &mut flags.ftz,
        "noftz" => &mut flags.noftz,
        "relu" => &mut flags.relu,
        "NaN" => &mut flags.nan,
        "xorsign" => &mut flags.xorsign,
        "abs" => &mut flags.abs,
        "approx" => &mut flags.approx,
        "full" => &mut flags.full,
        "uni" => &mut flags.uni,
        "cc" => &mut flags.cc,
        "to" => &mut flags.to,
        "nc" => &mut flags.nc,
        "sync" => &mut flags.sync,
        "warp" => &mut flags.warp,
        "cluster" => &mut flags.cluster,
        "aligned" => &mut flags.aligned,
        "po" => &mut flags.plus_one,
        "shiftamt" => &mut flags.shiftamt,
        _ => return false,
    };
    !std::mem::replace(flag, true)
}
