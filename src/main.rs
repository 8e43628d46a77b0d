//! The envdoc program.

fn main() {}
