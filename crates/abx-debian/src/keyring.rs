//! Whose signature on a release file counts.

use std::path::PathBuf;

use pgp::composed::{CleartextSignedMessage, Deserializable, SignedPublicKey, SignedPublicSubKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{Signature, SignatureType};
use pgp::types::{KeyDetails, Tag, VerifyingKey};

/// The archive's certificates, as `keys/README.md` says.
const EMBEDDED: [&[u8]; 9] = [
    include_bytes!("../keys/trixie-automatic.gpg"),
    include_bytes!("../keys/trixie-security-automatic.gpg"),
    include_bytes!("../keys/trixie-stable.gpg"),
    include_bytes!("../keys/bookworm-automatic.gpg"),
    include_bytes!("../keys/bookworm-security-automatic.gpg"),
    include_bytes!("../keys/bookworm-stable.gpg"),
    include_bytes!("../keys/bullseye-automatic.gpg"),
    include_bytes!("../keys/bullseye-security-automatic.gpg"),
    include_bytes!("../keys/bullseye-stable.gpg"),
];

/// Clocks of mirrors and hosts differ a little.
const CLOCK_SKEW: u64 = 24 * 60 * 60;

/// The keys whose signatures count.
#[derive(Clone, Debug)]
pub struct Keyring {
    certificates: Vec<SignedPublicKey>,
}

/// Why a signed text is not believed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// Not a text with an OpenPGP signature around it.
    #[error("it is not a clear-signed text")]
    Malformed(#[source] Box<pgp::errors::Error>),
    /// Signed, but by nobody we know.
    #[error("it is signed by unknown keys ({})", issuers.join(", "))]
    UnknownSigner { issuers: Vec<String> },
    /// A known key's name on a signature that does not hold.
    #[error("the signature of key {issuer} does not hold: {reason}")]
    Bad { issuer: String, reason: &'static str },
}

/// A keyring file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the keyring {}: {reason}", path.display())]
pub struct KeyringError {
    pub path: PathBuf,
    pub reason: String,
}

impl Keyring {
    /// Debian's own keys, from this crate's data.
    pub fn debian() -> Self {
        let certificates = EMBEDDED
            .iter()
            .map(|bytes| SignedPublicKey::from_bytes(*bytes).expect("embedded keys are well-formed"))
            .collect();
        Self { certificates }
    }

    /// A keyring without keys, to add to.
    pub fn empty() -> Self {
        Self { certificates: Vec::new() }
    }

    /// Adds the certificates of a file, armoured or binary: the keys of an archive of one's own.
    pub fn add_file(&mut self, path: &std::path::Path) -> Result<(), KeyringError> {
        let unusable = |reason: String| KeyringError { path: path.to_owned(), reason };
        let bytes = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
        let (found, _) = SignedPublicKey::from_reader_many(bytes.as_slice())
            .map_err(|error| unusable(error.to_string()))?;
        for certificate in found {
            self.certificates.push(certificate.map_err(|error| unusable(error.to_string()))?);
        }
        Ok(())
    }

    /// The signed text of a clear-signed message, if one of its signatures is by a key of this ring that is
    /// neither revoked nor expired at `now` (seconds since 1970).
    ///
    /// Only what was signed is returned, whatever stood around it.
    pub fn verify(&self, message: &str, now: u64) -> Result<String, SignatureError> {
        let (message, _) = CleartextSignedMessage::from_string(message)
            .map_err(|error| SignatureError::Malformed(Box::new(error)))?;
        let text = message.signed_text();
        let mut first_bad = None;
        for signature in message.signatures() {
            match self.check(signature, text.as_bytes(), now) {
                Ok(true) => return Ok(text.replace("\r\n", "\n")),
                Ok(false) => {}
                Err(reason) => {
                    let issuer = issuer(signature);
                    first_bad.get_or_insert(SignatureError::Bad { issuer, reason });
                }
            }
        }
        let issuers = message.signatures().iter().map(issuer).collect();
        Err(first_bad.unwrap_or(SignatureError::UnknownSigner { issuers }))
    }

    /// Whether the signature is by one of ours and holds; `Err` where it is by one of ours and does not.
    fn check(&self, signature: &Signature, text: &[u8], now: u64) -> Result<bool, &'static str> {
        for certificate in &self.certificates {
            if issued_by(signature, &certificate.primary_key) {
                check_signature(signature, &certificate.primary_key, text, now)?;
                return check_primary(certificate, now).map(|()| true);
            }
            for subkey in &certificate.public_subkeys {
                if issued_by(signature, &subkey.key) {
                    check_signature(signature, &subkey.key, text, now)?;
                    check_primary(certificate, now)?;
                    return check_subkey(certificate, subkey, now).map(|()| true);
                }
            }
        }
        Ok(false)
    }
}

fn issuer(signature: &Signature) -> String {
    match signature.issuer_fingerprint().first() {
        Some(fingerprint) => fingerprint.to_string(),
        None => signature.issuer_key_id().first().map_or_else(|| "?".to_owned(), |id| id.to_string()),
    }
}

fn issued_by(signature: &Signature, key: &impl KeyDetails) -> bool {
    signature.issuer_fingerprint().iter().any(|fingerprint| **fingerprint == key.fingerprint())
        || signature.issuer_key_id().iter().any(|id| **id == key.legacy_key_id())
}

fn check_signature(
    signature: &Signature,
    key: &impl VerifyingKey,
    text: &[u8],
    now: u64,
) -> Result<(), &'static str> {
    if !matches!(signature.typ(), Some(SignatureType::Text | SignatureType::Binary)) {
        return Err("it is no signature of a text");
    }
    if !matches!(
        signature.hash_alg(),
        Some(HashAlgorithm::Sha256 | HashAlgorithm::Sha384 | HashAlgorithm::Sha512)
    ) {
        return Err("its digest algorithm is too weak");
    }
    let created = u64::from(signature.created().ok_or("it has no date")?.as_secs());
    if created > now + CLOCK_SKEW {
        return Err("it is dated in the future");
    }
    if lapsed(created, signature.signature_expiration_time().map(|span| span.as_secs()), now) {
        return Err("it has expired");
    }
    signature.verify(key, text).map_err(|_| "the text is not what was signed")
}

/// The primary key must be bound to a name by itself, not revoked, not expired, and allowed to sign or to
/// certify a subkey that signs.
fn check_primary(certificate: &SignedPublicKey, now: u64) -> Result<(), &'static str> {
    let key = &certificate.primary_key;
    let details = &certificate.details;
    if details.revocation_signatures.iter().any(|revocation| revocation.verify_key(key).is_ok()) {
        return Err("the key is revoked");
    }
    let named = details.users.iter().flat_map(|user| {
        user.signatures.iter().filter(|signature| {
            issued_by(signature, key) && signature.verify_certification(key, Tag::UserId, &user.id).is_ok()
        })
    });
    let direct = details.direct_signatures.iter().filter(|signature| signature.verify_key(key).is_ok());
    let named = named.filter(|signature| signature.typ() != Some(SignatureType::CertRevocation));
    // A signature on the key alone may name who can revoke it and say nothing of its end, so either counts.
    let latest = [newest(named), newest(direct)];
    if latest.iter().all(Option::is_none) {
        return Err("the key has no signature of its own");
    }
    let created = u64::from(key.created_at().as_secs());
    let expired = latest
        .into_iter()
        .flatten()
        .any(|signature| lapsed(created, signature.key_expiration_time().map(|span| span.as_secs()), now));
    if expired { Err("the key has expired") } else { Ok(()) }
}

fn newest<'a>(signatures: impl Iterator<Item = &'a Signature>) -> Option<&'a Signature> {
    signatures.max_by_key(|signature| signature.created().map(|created| created.as_secs()))
}

/// A subkey must be bound by the primary key, bind back, be meant for signing, not revoked, not expired.
fn check_subkey(
    certificate: &SignedPublicKey,
    subkey: &SignedPublicSubKey,
    now: u64,
) -> Result<(), &'static str> {
    let primary = &certificate.primary_key;
    let (revocations, bindings): (Vec<_>, Vec<_>) = subkey
        .signatures
        .iter()
        .filter(|signature| signature.verify_subkey_binding(primary, &subkey.key).is_ok())
        .partition(|signature| signature.typ() == Some(SignatureType::SubkeyRevocation));
    if !revocations.is_empty() {
        return Err("the subkey is revoked");
    }
    let latest = newest(bindings.into_iter()).ok_or("the subkey is not bound to its key")?;
    let bound_back = latest
        .embedded_signature()
        .is_some_and(|back| back.verify_primary_key_binding(&subkey.key, primary).is_ok());
    if !latest.key_flags().sign() || !bound_back {
        return Err("the subkey is not meant for signing");
    }
    let expires = latest.key_expiration_time().map(|span| span.as_secs());
    match lapsed(u64::from(subkey.key.created_at().as_secs()), expires, now) {
        true => Err("the subkey has expired"),
        false => Ok(()),
    }
}

/// An absent or zero span means for ever.
fn lapsed(created: u64, span: Option<u32>, now: u64) -> bool {
    span.is_some_and(|span| span != 0 && created + u64::from(span) < now)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A day on which all of Debian's keys are valid.
    const DAY: u64 = 1_790_000_000;

    #[test]
    fn debians_keys_are_whole_and_meant_for_signing() {
        let keyring = Keyring::debian();
        assert_eq!(keyring.certificates.len(), EMBEDDED.len());
        for certificate in &keyring.certificates {
            let name = certificate.primary_key.fingerprint();
            assert_eq!(check_primary(certificate, DAY), Ok(()), "{name}");
            for subkey in &certificate.public_subkeys {
                assert_eq!(check_subkey(certificate, subkey, DAY), Ok(()), "{name}");
            }
        }
    }

    #[test]
    fn a_key_counts_until_it_expires() {
        let keyring = Keyring::debian();
        let far = DAY + 100 * 365 * 24 * 60 * 60;
        for certificate in &keyring.certificates {
            assert_eq!(check_primary(certificate, far), Err("the key has expired"));
            for subkey in &certificate.public_subkeys {
                assert_eq!(check_subkey(certificate, subkey, far), Err("the subkey has expired"));
            }
        }
    }

    #[test]
    fn a_subkey_counts_for_its_own_key_only() {
        let keyring = Keyring::debian();
        let [one, other] = [&keyring.certificates[0], &keyring.certificates[1]];
        let foreign = &other.public_subkeys[0];
        assert_eq!(check_subkey(one, foreign, DAY), Err("the subkey is not bound to its key"));
    }
}
