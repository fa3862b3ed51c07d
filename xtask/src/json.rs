//! Writing JSON.

use std::fmt::{self, Display, Formatter};

/// A JSON value.
#[derive(Clone, Debug)]
pub enum Json {
    /// A number.
    Number(f64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object, its members in this order.
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    /// A string.
    pub fn text(text: impl Into<String>) -> Json {
        Json::Text(text.into())
    }
}

impl Display for Json {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        match self {
            Json::Number(number) => write!(formatter, "{number}"),
            Json::Text(text) => quote(text, formatter),
            Json::List(items) => {
                let separator = if items.is_empty() { "" } else { "\n" };
                formatter.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(formatter, "{}\n{item}", if index > 0 { "," } else { "" })?;
                }
                write!(formatter, "{separator}]")
            }
            Json::Object(members) => {
                formatter.write_str("{")?;
                for (index, (name, value)) in members.iter().enumerate() {
                    formatter.write_str(if index > 0 { ", " } else { "" })?;
                    quote(name, formatter)?;
                    write!(formatter, ": {value}")?;
                }
                formatter.write_str("}")
            }
        }
    }
}

fn quote(text: &str, formatter: &mut Formatter) -> fmt::Result {
    formatter.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' => formatter.write_str("\\\"")?,
            '\\' => formatter.write_str("\\\\")?,
            control if control < ' ' => write!(formatter, "\\u{:04x}", control as u32)?,
            other => write!(formatter, "{other}")?,
        }
    }
    formatter.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(Json::text("a\"b\\c\n").to_string(), r#""a\"b\\c\u000a""#);
    }

    #[test]
    fn members_keep_their_order() {
        let json = Json::Object(vec![("b", Json::Number(1.5)), ("a", Json::List(vec![]))]);
        assert_eq!(json.to_string(), r#"{"b": 1.5, "a": []}"#);
    }
}
