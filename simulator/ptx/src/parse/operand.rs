//! Operands.

use super::body::Frame;
use super::literal::Number;
use super::scope::Entry;
use super::{Parser, Result};
use crate::ast::*;
use crate::lexer::{Kind, Token};

/// The greatest number of elements in braces: of `.v8`, or of eight packed bytes.
const VECTOR_LIMIT: usize = 8;

/// `WARP_SZ`, the one constant PTX predefines.
const WARP_SIZE: u64 = 32;

impl<'a> Parser<'a> {
    /// An operand of any kind but those special to branches and calls.
    pub(super) fn operand(&mut self, frame: &mut Frame<'a>) -> Result<Operand> {
        match self.token.kind {
            Kind::Punct(b'[') => self.address().map(Operand::Address),
            Kind::Punct(b'{') => self.vector(frame),
            _ => self.scalar(frame),
        }
    }

    /// A declared register.
    pub(super) fn register(&mut self) -> Result<RegisterId> {
        let token = self.word("a register")?;
        match self.names.get(token.text) {
            Some(Entry::Register(id)) => Ok(id),
            _ => Err(self.error_at(token, "a declared register")),
        }
    }

    fn scalar(&mut self, frame: &mut Frame<'a>) -> Result<Operand> {
        match self.token.kind {
            Kind::Word => self.named(frame),
            Kind::Punct(b'!') => {
                self.advance();
                self.register().map(Operand::Negated)
            }
            Kind::Punct(b'-' | b'+') | Kind::Number => {
                let negated = self.at(b'-') && self.lexer.word_follows(&self.token);
                if negated {
                    self.advance();
                    return self.register().map(Operand::Negated);
                }
                Ok(match self.signed_number()? {
                    Number::Integer(value) => Operand::Integer(value),
                    Number::Float(value) => Operand::Float(value),
                })
            }
            _ => Err(self.error("an operand")),
        }
    }

    /// An operand that starts with a name.
    fn named(&mut self, frame: &Frame) -> Result<Operand> {
        let token = self.advance();
        if token.text == "_" {
            return self.after_destination(None);
        }
        match self.names.get(token.text) {
            Some(Entry::Register(id)) => match self.token.dotted() {
                Some(part) => self.part_of(id, part, frame),
                None => self.after_destination(Some(id)),
            },
            Some(Entry::Symbol(symbol)) => Ok(Operand::Symbol(symbol, self.offset()?)),
            Some(_) => Err(self.error_at(token, "a register, a symbol or a number")),
            None if token.text == "WARP_SZ" => Ok(Operand::Integer(WARP_SIZE)),
            None => match self.special(token)? {
                Some(special) => Ok(Operand::Special(special)),
                None => Err(self.error_at(token, "a declared register or symbol, or a special register")),
            },
        }
    }

    /// A register or sink, or the second of two after a bar.
    fn after_destination(&mut self, first: Option<RegisterId>) -> Result<Operand> {
        if self.take(b'|') {
            let sink = self.token.kind == Kind::Word && self.token.text == "_";
            let second = if sink {
                self.advance();
                None
            } else {
                Some(self.register()?)
            };
            return Ok(Operand::Pair(first, second));
        }
        Ok(first.map_or(Operand::Sink, Operand::Register))
    }

    /// `.x` of a vector register, or `.b0` of a video operand.
    fn part_of(&mut self, register: RegisterId, part: &str, frame: &Frame) -> Result<Operand> {
        // The components of a vector may also be called r, g, b and a.
        let component = match part {
            "r" => Some(Component::X),
            "g" => Some(Component::Y),
            "b" => Some(Component::Z),
            "a" => Some(Component::W),
            _ => Component::from_word(part),
        };
        let lanes = frame.body.registers[register.index()].vector.map_or(0, Vector::elements);
        let component = component.filter(|&component| (component as usize) < lanes);
        let operand = component
            .map(|component| Operand::Component(register, component))
            .or_else(|| Selector::from_word(part).map(|selector| Operand::Selected(register, selector)));
        let operand = operand.ok_or_else(|| self.error("a component of the register"))?;
        self.advance();
        Ok(operand)
    }

    /// `{ELEMENT, ...}`
    fn vector(&mut self, frame: &mut Frame<'a>) -> Result<Operand> {
        self.expect(b'{')?;
        let mut elements = Vec::new();
        loop {
            if elements.len() == VECTOR_LIMIT {
                return Err(self.error(format!("at most {VECTOR_LIMIT} elements")));
            }
            elements.push(self.scalar(frame)?);
            if !self.take(b',') {
                self.expect(b'}')?;
                return Ok(Operand::Vector(elements));
            }
        }
    }

    /// `[BASE+OFFSET]`
    fn address(&mut self) -> Result<Address> {
        self.expect(b'[')?;
        let token = self.token;
        let address = if token.kind == Kind::Word {
            self.advance();
            let base = match self.names.get(token.text) {
                Some(Entry::Register(id)) => Base::Register(id),
                Some(Entry::Symbol(symbol)) => Base::Symbol(symbol),
                _ => return Err(self.error_at(token, "a declared register or symbol")),
            };
            Address { base, offset: self.offset()? }
        } else {
            match self.signed_number()? {
                Number::Integer(value) => Address { base: Base::Absolute, offset: value as i64 },
                Number::Float(_) => return Err(self.error_at(token, "an address")),
            }
        };
        self.expect(b']')?;
        Ok(address)
    }

    /// The special register that `token` and the tokens after it name.
    fn special(&mut self, token: Token) -> Result<Option<SpecialRegister>> {
        use SpecialRegister::*;
        let geometry = match token.text {
            "%tid" => Tid,
            "%ntid" => Ntid,
            "%ctaid" => Ctaid,
            "%nctaid" => Nctaid,
            "%clusterid" => Clusterid,
            "%nclusterid" => Nclusterid,
            "%cluster_ctaid" => ClusterCtaid,
            "%cluster_nctaid" => ClusterNctaid,
            "%reserved_smem_offset_" => {
                self.expect(b'<')?;
                let number = self.token;
                let index = self.integer()?;
                self.expect(b'>')?;
                return match index {
                    0 | 1 => Ok(Some(ReservedSmemOffset(index as u8))),
                    _ => Err(self.error_at(number, "0 or 1")),
                };
            }
            name => return Ok(scalar_special(name)),
        };
        let axis =
            self.token.dotted().and_then(Axis::from_word).ok_or_else(|| self.error("`.x`, `.y` or `.z`"))?;
        self.advance();
        Ok(Some(geometry(axis)))
    }
}

/// A special register without components.
fn scalar_special(name: &str) -> Option<SpecialRegister> {
    use SpecialRegister::*;
    let numbered = |prefix: &str, suffix: &str, count: u8| {
        let digits = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
        digits.parse::<u8>().ok().filter(|number| *number < count && number.to_string() == digits)
    };
    Some(match name {
        "%cluster_ctarank" => ClusterCtarank,
        "%cluster_nctarank" => ClusterNctarank,
        "%is_explicit_cluster" => IsExplicitCluster,
        "%laneid" => Laneid,
        "%warpid" => Warpid,
        "%nwarpid" => Nwarpid,
        "%smid" => Smid,
        "%nsmid" => Nsmid,
        "%gridid" => Gridid,
        "%lanemask_eq" => LanemaskEq,
        "%lanemask_le" => LanemaskLe,
        "%lanemask_lt" => LanemaskLt,
        "%lanemask_ge" => LanemaskGe,
        "%lanemask_gt" => LanemaskGt,
        "%clock" => Clock,
        "%clock_hi" => ClockHi,
        "%clock64" => Clock64,
        "%globaltimer" => Globaltimer,
        "%globaltimer_lo" => GlobaltimerLo,
        "%globaltimer_hi" => GlobaltimerHi,
        "%total_smem_size" => TotalSmemSize,
        "%aggr_smem_size" => AggrSmemSize,
        "%dynamic_smem_size" => DynamicSmemSize,
        "%reserved_smem_offset_begin" => ReservedSmemOffsetBegin,
        "%reserved_smem_offset_end" => ReservedSmemOffsetEnd,
        "%reserved_smem_offset_cap" => ReservedSmemOffsetCap,
        "%current_graph_exec" => CurrentGraphExec,
        _ => numbered("%pm", "", 8)
            .map(Pm)
            .or_else(|| numbered("%pm", "_64", 8).map(Pm64))
            .or_else(|| numbered("%envreg", "", 32).map(Envreg))?,
    })
}
