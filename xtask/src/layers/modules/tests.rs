//! Each kind of cycle is found, and nothing else.

use std::collections::HashMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use super::circles_in;

/// The circles of a made-up crate: the paths of its files from `src`, and their texts.
fn circles<const N: usize>(files: [(&str, &str); N]) -> Vec<String> {
    let path = |(file, text): (&str, &str)| (Path::new("src").join(file), text.to_owned());
    let files: HashMap<PathBuf, String> = files.into_iter().map(path).collect();
    let read = |file: &Path| {
        files
            .get(file)
            .cloned()
            .ok_or_else(|| Error::from(ErrorKind::NotFound))
    };
    circles_in(Path::new("src/lib.rs"), &read).expect("a crate that can be read")
}

const KEY_AND_HOLDER: &str = "mod key;\nmod holder;\n";
const CIRCLE: &str = "crate::holder takes Key from crate::key, which takes Holder from crate::holder";

#[test]
fn cycle_of_two_files_is_named_with_its_imports() {
    let found = circles([
        ("lib.rs", KEY_AND_HOLDER),
        ("key.rs", "use crate::holder::Holder;\npub struct Key(Holder);"),
        (
            "holder.rs",
            "use super::key::Key;\npub enum Holder { Through(Box<Key>) }",
        ),
    ]);
    assert_eq!(found, [CIRCLE]);
}

#[test]
fn modules_without_a_cycle_pass() {
    let found = circles([
        ("lib.rs", KEY_AND_HOLDER),
        (
            "key.rs",
            "pub struct Key;\n// crate::holder::Holder\nconst TEXT: &str = \"crate::holder::Holder\";",
        ),
        (
            "holder.rs",
            "use crate::key::Key;\n/// [`Holder`](crate::holder::Holder)\npub struct Holder(Key);",
        ),
    ]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn cycle_of_three_files_is_named_once() {
    let found = circles([
        ("lib.rs", "mod a;\nmod b;\nmod c;"),
        ("a.rs", "use crate::b::B;\npub struct A(B);"),
        ("b.rs", "use crate::c::C;\npub struct B(C);"),
        ("c.rs", "use crate::a::A;\npub struct C(Box<A>);"),
    ]);
    let circle = "crate::a takes B from crate::b, which takes C from crate::c, which takes A from crate::a";
    assert_eq!(found, [circle]);
}

#[test]
fn reexported_name_counts_as_its_definition() {
    let found = circles([
        ("lib.rs", "mod door;\nmod key;\nmod holder;"),
        (
            "door.rs",
            "pub use crate::holder::Holder;\npub use crate::key::{self, Key as Passed};",
        ),
        ("key.rs", "use crate::door::Holder;\npub struct Key(Holder);"),
        (
            "holder.rs",
            "pub enum Holder { Through(Box<crate::door::Passed>) }",
        ),
    ]);
    assert_eq!(found, [CIRCLE]);
}

#[test]
fn parent_reexporting_its_child_is_in_no_cycle() {
    let parent = "mod edit;\npub use edit::EditError;\npub struct Keys;";
    let child = (
        "keys/edit.rs",
        "use super::Keys;\npub struct EditError;\nimpl Keys {}",
    );
    let found = circles([("lib.rs", "mod keys;"), ("keys.rs", parent), child]);
    assert!(found.is_empty(), "{found:?}");

    let uses_it = format!("{parent}\nfn fails() -> EditError {{ EditError }}");
    let found = circles([("lib.rs", "mod keys;"), ("keys.rs", &uses_it), child]);
    let circle = "crate::keys takes EditError from crate::keys::edit, which takes Keys from crate::keys";
    assert_eq!(found, [circle]);
}

#[test]
fn cycle_of_folders_is_found_without_a_cycle_of_files() {
    let found = circles([
        ("lib.rs", "mod keys;\nmod ports;"),
        (
            "keys.rs",
            "mod nonce;\nuse crate::ports::Store;\npub struct Keys(Box<dyn Store>);",
        ),
        ("keys/nonce.rs", "pub struct Nonce;"),
        (
            "ports.rs",
            "use crate::keys::nonce::Nonce;\npub trait Store { fn add(&self, nonce: Nonce); }",
        ),
    ]);
    let circle = "crate::keys takes Store from crate::ports, which takes Nonce from crate::keys";
    assert_eq!(found, [circle]);
}

#[test]
fn test_modules_are_in_no_cycle() {
    let found = circles([
        ("lib.rs", KEY_AND_HOLDER),
        (
            "key.rs",
            "pub struct Key;\n#[cfg(test)]\nuse crate::holder::Holder;\n\
             #[cfg(test)]\nmod tests {\n    use crate::holder::Holder;\n}\n#[cfg(test)]\nmod more_tests;",
        ),
        ("holder.rs", "use crate::key::Key;\npub struct Holder(Key);"),
    ]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn names_used_and_defined_by_macros_count() {
    let found = circles([
        ("lib.rs", KEY_AND_HOLDER),
        (
            "key.rs",
            "text_type! { Key, max 100 }\nfn check() { assert!(crate::holder::Holder::is_one()); }",
        ),
        ("holder.rs", "use crate::key::Key;\npub struct Holder(Key);"),
    ]);
    assert_eq!(found, [CIRCLE]);
}

#[test]
fn super_in_an_inline_module_means_the_file() {
    let found = circles([
        ("lib.rs", KEY_AND_HOLDER),
        (
            "key.rs",
            "pub struct Key;\nmod inner {\n    use super::Key;\n    use super::super::holder::Holder;\n}",
        ),
        ("holder.rs", "use crate::key::Key;\npub struct Holder(Key);"),
    ]);
    assert_eq!(found, [CIRCLE]);
}

#[test]
fn module_with_a_path_attribute_is_read() {
    let found = circles([
        ("lib.rs", "#[path = \"shared/key.rs\"]\nmod key;\nmod holder;"),
        ("shared/key.rs", "use crate::holder::*;\npub struct Key(Holder);"),
        ("holder.rs", "use crate::key::Key;\npub struct Holder(Box<Key>);"),
    ]);
    let circle = "crate::holder takes Key from crate::key, which takes * from crate::holder";
    assert_eq!(found, [circle]);
}
