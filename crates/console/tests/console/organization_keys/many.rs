//! Revoking more keys than are counted.

use std::sync::Arc;

use keyward_domain::administration::OrganizationKeys;
use keyward_domain::administration::ports::{MockOrganizationKeyStore, PreviewedKeys, RevocationPreview};
use keyward_domain::membership::Role;
use keyward_domain::testing::TestInstallation;

use crate::running::Running;

#[tokio::test]
async fn page_says_more_than_if_keys_are_not_all_counted() {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    installation.member(&acme, "ada", Role::Owner);
    let mut keys = MockOrganizationKeyStore::new();
    keys.expect_revocation_preview().returning(|_, _, _| {
        let counted = PreviewedKeys {
            keys: 5_000,
            has_more: true,
            without_access: 5_000,
            holders: 30,
            first: Vec::new(),
        };
        Ok(RevocationPreview {
            selected: counted.clone(),
            descendants: counted,
        })
    });
    let keys = OrganizationKeys::new(Arc::new(keys), installation.builder.sources.clone());
    let running = Running::with(installation, None, |console| console.organization_keys = keys).await;
    let all = "/organizations/acme/settings/api-keys/all/revoke?before=2025-06-30T00:00";
    let page = running.signed_in("ada").await.get(all).await.text();
    for words in [
        "Revoke more than 5,000 keys of at least 30 people?",
        "Requests that use these keys will fail immediately.",
        "More than 5,000 keys will be revoked",
        "Over 5,000 other valid keys were created",
        "Also revoke these keys",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
    assert!(!page.contains("Showing"), "{page}");
}
