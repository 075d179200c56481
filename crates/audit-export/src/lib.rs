//! The audit log as files, for the console's export and for the command line.

pub mod csv;
pub mod json_lines;
