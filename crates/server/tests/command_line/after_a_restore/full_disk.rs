//! A restored database whose disk is full.

use std::fs::File;

use super::lost::Lost;
use super::{back_up, repeat};
use crate::data_directory::DataDirectory;
use crate::place::Place;
use crate::readiness::until;
use crate::small_disk::{fill, on_a_small_disk};

#[test]
fn changes_that_may_use_reserved_disk_space_are_all_repeated() {
    on_a_small_disk(
        "after_a_restore::full_disk::changes_that_may_use_reserved_disk_space_are_all_repeated",
        |disk| {
            let lost = Lost::set_up(Place::file("full-disk-lost"));
            let data = disk.join("data");
            let restored = Place::File(DataDirectory::at(data.clone()));
            back_up(&lost.place, &restored);
            lost.remove_access();
            until(&restored.serve(&[]), 200);
            // Another revocation used some of it.
            let reserve = File::options().write(true).open(data.join("keyward.reserve"));
            reserve.unwrap().set_len(8 * 1024 * 1024).unwrap();
            fill(&disk.join("ballast"));

            let answer = repeat(&restored, &lost.log());
            assert!(
                answer.errors.contains(
                    "\nAPI keys revoked: 1 repeated, 0 already so, 1 not in this database, 0 left\n\
                     Memberships ended: 1 repeated, 0 already so, 0 not in this database, 0 left\n\
                     Owners made members: 0 repeated, 0 already so, 0 not in this database, 1 left\n\
                     Invitations closed: 2 repeated, 0 already so, 0 not in this database, 0 left\n\
                     Projects archived: 0 repeated, 0 already so, 0 not in this database, 1 left\n\
                     Members removed from projects: 0 repeated, 0 already so, 0 not in this database, 1 left\n\
                     By hand: passwords were changed"
                ),
                "{}",
                answer.errors
            );
            assert_eq!(answer.code, Some(1));
        },
    );
}
