//! Contents of the released binary.

use std::fs;

use keyward_tests::keyward::binary;

fn holds(binary: &[u8], word: &str) -> bool {
    binary.windows(word.len()).any(|bytes| bytes == word.as_bytes())
}

#[test]
fn binary_built_alone_has_no_test_variables() {
    let binary = fs::read(binary()).expect("the binary");
    assert!(
        holds(&binary, "KEYWARD_DATABASE_URL"),
        "words are found as they are"
    );
    assert!(!holds(&binary, "KEYWARD_TEST_MIGRATIONS_TO_COME"));
}
