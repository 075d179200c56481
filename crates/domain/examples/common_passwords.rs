//! Makes the list of common passwords from a text file, the most used first, one a line: CONTRIBUTING.md.

use std::error::Error;
use std::io::{Write, read_to_string, stdin, stdout};

use keyward_domain::sign_in::password::encode_common_passwords;

fn main() -> Result<(), Box<dyn Error>> {
    let passwords = read_to_string(stdin())?;
    stdout().write_all(&encode_common_passwords(passwords.lines()))?;
    Ok(())
}
