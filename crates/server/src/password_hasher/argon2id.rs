//! argon2id (RFC 9106) in the memory that it is given.

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::password_hash::{Error, Result};
use argon2::{Algorithm, Argon2, Block, Params, Version};

/// Kibibytes that one hash takes: 19 MiB, as OWASP's password storage cheat sheet asks with two passes.
const MEMORY: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const OUTPUT_BYTES: usize = 32;
/// RFC 9106 §3.1: 16 bytes are recommended for password hashing.
pub(super) const SALT_BYTES: usize = 16;

/// A dummy hash for users who do not exist: the same costs as every other hash, and no password matches it.
pub(super) const DUMMY_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The memory of one hash. It is reused for the next one, because the allocator returns memory of this size
/// late or never: after hashes on 10 threads, the process would hold the memory of 10 hashes.
pub(super) type WorkingMemory = Vec<Block>;

/// A new hash in PHC string format.
pub(super) fn hash(password: &[u8], salt: [u8; SALT_BYTES], memory: &mut WorkingMemory) -> Result<String> {
    let parameters = Params::new(MEMORY, PASSES, LANES, Some(OUTPUT_BYTES))?;
    let output = output(password, &salt, &parameters, memory)?;
    let hash = PasswordHash {
        algorithm: Algorithm::Argon2id.ident(),
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(&parameters)?,
        salt: Some(Salt::new(&salt)?),
        hash: Some(output),
    };
    Ok(hash.to_string())
}

/// Whether verifying a password against this hash costs at most as much as against one of ours. A text that
/// is no hash costs nothing, because no password matches it.
pub(crate) fn is_affordable(phc_string: &str) -> bool {
    let Ok(hash) = PasswordHash::new(phc_string) else {
        return true;
    };
    match Params::try_from(&hash) {
        Ok(parameters) => refuse_excessive(&parameters).is_ok(),
        Err(_) => true,
    }
}

/// Whether this is the password of the hash, at the costs that the hash names.
pub(super) fn verify(password: &[u8], phc_string: &str, memory: &mut WorkingMemory) -> Result<bool> {
    let hash = PasswordHash::new(phc_string)?;
    if hash.algorithm != Algorithm::Argon2id.ident() {
        return Err(Error::Algorithm);
    }
    if hash.version != Some(Version::V0x13.into()) {
        return Err(Error::Version);
    }
    let salt = hash.salt.ok_or(Error::SaltInvalid)?;
    let expected = hash.hash.ok_or(Error::EncodingInvalid)?;
    let parameters = Params::try_from(&hash)?;
    refuse_excessive(&parameters)?;
    // `Output` compares in constant time.
    Ok(output(password, &salt, &parameters, memory)? == expected)
}

/// A hash in the database or in an export may be forged. It must not make the verification of a password take
/// more memory or work than one of our hashes.
fn refuse_excessive(parameters: &Params) -> Result<()> {
    let work = u64::from(parameters.m_cost()) * u64::from(parameters.t_cost());
    if parameters.m_cost() > MEMORY {
        Err(Error::ParamInvalid { name: "m" })
    } else if work > u64::from(MEMORY) * u64::from(PASSES) {
        Err(Error::ParamInvalid { name: "t" })
    } else {
        Ok(())
    }
}

fn output(password: &[u8], salt: &[u8], parameters: &Params, memory: &mut WorkingMemory) -> Result<Output> {
    memory.resize(parameters.block_count(), Block::new());
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters.clone());
    let length = parameters.output_len().unwrap_or(OUTPUT_BYTES);
    let mut bytes = [0_u8; Output::MAX_LENGTH];
    let bytes = bytes.get_mut(..length).ok_or(Error::OutputSize)?;
    argon2.hash_password_into_with_memory(password, salt, bytes, memory)?;
    Ok(Output::new(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWORD: &[u8] = b"correct horse battery staple";

    #[test]
    fn hash_of_another_implementation_is_verified() {
        // Made by argon2-cffi 25.1 (the reference implementation in C), with other costs than ours.
        let hash =
            "$argon2id$v=19$m=256,t=3,p=2$c2l4dGVlbiBieXRlIHNhbA$eJWjP9Eh+PRo0UC9Ek1IrolGaE72R5ybb0KVUtaWUHI";
        let mut memory = Vec::new();
        assert_eq!(verify(PASSWORD, hash, &mut memory), Ok(true));
        assert_eq!(verify(b"another", hash, &mut memory), Ok(false));
    }

    #[test]
    fn reused_memory_does_not_affect_the_hash() {
        let mut memory = Vec::new();
        let first = hash(PASSWORD, [7; SALT_BYTES], &mut memory).unwrap();
        assert_eq!(memory.len(), MEMORY as usize);
        let second = hash(PASSWORD, [7; SALT_BYTES], &mut memory).unwrap();
        assert_eq!(first, second);
    }

    #[test]
    fn invalid_argon2id_hash_is_an_error_instead_of_a_mismatch() {
        for phc_string in [
            "",
            "plain",
            "$argon2i$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "$argon2id$v=16$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA",
            "$argon2id$v=19$m=19456,t=2,p=1",
            "$argon2id$v=19$m=19456,t=0,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ] {
            assert!(
                verify(PASSWORD, phc_string, &mut Vec::new()).is_err(),
                "{phc_string}"
            );
        }
    }

    #[test]
    fn excessive_hash_costs_are_refused_before_memory_allocation() {
        for costs in [
            "m=4294967295,t=1,p=1",
            "m=19457,t=1,p=1",
            "m=19456,t=3,p=1",
            "m=8,t=4294967295,p=1",
        ] {
            let hash = DUMMY_HASH.replace("m=19456,t=2,p=1", costs);
            let mut memory = Vec::new();
            assert!(verify(PASSWORD, &hash, &mut memory).is_err(), "{costs}");
            assert_eq!(memory.len(), 0, "{costs}");
            assert!(!is_affordable(&hash), "{costs}");
        }
        assert!(is_affordable(DUMMY_HASH));
    }

    #[test]
    fn dummy_hash_costs_the_same_as_any_other() {
        let hash = hash(PASSWORD, [7; SALT_BYTES], &mut Vec::new()).unwrap();
        let costs = |phc_string: &str| phc_string.split('$').take(4).collect::<Vec<_>>().join("$");
        assert_eq!(costs(DUMMY_HASH), costs(&hash));
        assert_eq!(DUMMY_HASH.len(), hash.len());
        assert_eq!(verify(PASSWORD, DUMMY_HASH, &mut Vec::new()), Ok(false));
    }
}
