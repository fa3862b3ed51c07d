//! The commands.

fn main() {}
