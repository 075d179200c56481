//! Keeps Debian's packages from starting the services that they install: the tests run the programs
//! themselves, and a web server that starts itself occupies port 80.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};

/// The program that Debian's packages ask before they start a service.
pub(crate) const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Forbids every start of a service (101 is "action forbidden by policy").
const FORBID: &[u8] = b"#!/bin/sh\nexit 101\n";

/// While this value lives, no package starts a service.
pub(crate) struct NoServices {
    /// The file that is removed with this value, also if a killed run left it behind; `None` if the machine
    /// has a policy of its own, which stays.
    policy: Option<PathBuf>,
}

impl NoServices {
    pub(crate) fn hold(policy: &Path) -> Outcome<Self> {
        let about = Failure::about(policy.display());
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).mode(0o755).open(policy) {
            Ok(mut file) => {
                let held = Self {
                    policy: Some(policy.to_owned()),
                };
                file.write_all(FORBID).map_err(about)?;
                Ok(held)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let left_behind = fs::read(policy).map_err(about)? == FORBID;
                Ok(Self {
                    policy: left_behind.then(|| policy.to_owned()),
                })
            }
            Err(error) => Err(about(error)),
        }
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if let Some(policy) = &self.policy {
            let _ = fs::remove_file(policy);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn policy_forbids_starts_while_held() {
        let policy = policy("held");
        let held = NoServices::hold(&policy).unwrap();
        let asked = Command::new("sh").arg(&policy).status().unwrap();
        assert_eq!(asked.code(), Some(101));
        drop(held);
        assert!(!policy.exists());
    }

    #[test]
    fn policy_of_the_machine_stays() {
        let policy = policy("own");
        fs::write(&policy, "#!/bin/sh\nexit 0\n").unwrap();
        drop(NoServices::hold(&policy).unwrap());
        assert!(policy.exists());
        fs::remove_file(&policy).unwrap();
    }

    #[test]
    fn policy_left_by_a_killed_run_is_removed() {
        let policy = policy("left");
        fs::write(&policy, FORBID).unwrap();
        drop(NoServices::hold(&policy).unwrap());
        assert!(!policy.exists());
    }

    fn policy(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("keyward-policy-{name}-{}", std::process::id()))
    }
}
