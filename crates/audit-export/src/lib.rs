//! The audit log as files: what owners export in the console, and what the command line prints.

pub mod csv;
pub mod json_lines;
