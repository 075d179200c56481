//! Texts of the list of keys: the page's title, the caption, and the hints about many keys.

use std::collections::HashSet;

use keyward_domain::api_key::{KeyDescription, KeyEdit, KeyName, KeyPrecondition};
use keyward_domain::audit::RequestSource;
use keyward_domain::keys::KeyDraft;
use keyward_domain::membership::Role;
use keyward_domain::ports::{DescendantKeys, KeyLimit, KeyLimits};
use keyward_domain::rate::Rate;
use keyward_domain::testing::TestInstallation;

use crate::running::{LIST, NEW, Running};

#[tokio::test]
async fn thousands_of_own_keys_paginate_to_the_end() {
    const COUNT: usize = 1_234;
    const PER_PAGE: usize = 50;
    let mut installation = TestInstallation::new();
    installation.limits = KeyLimits {
        valid: KeyLimit(5_000),
        changes: Rate::per_minute(60, 5_000),
    };
    let running = Running::with(installation, None, |_| ()).await;
    let acme = running.installation.organization("Acme");
    let ada = running.installation.member(&acme, "ada", Role::Owner);
    for number in 0..COUNT {
        let name = format!("Build {number}");
        running.installation.issue(&ada.as_holder(), &name).await;
    }
    let browser = running.signed_in("ada").await;
    let mut seen = HashSet::new();
    let mut pages = 0;
    let mut next = Some(LIST.to_owned());
    while let Some(address) = next {
        let page = browser.get(&address).await;
        let names: Vec<&str> = page
            .body
            .split("class=\"row-name line\" title=\"")
            .skip(1)
            .map(|rest| rest.split_once('"').unwrap().0)
            .collect();
        assert!(names.len() <= PER_PAGE, "{address}");
        for name in names {
            assert!(seen.insert(name.to_owned()), "{name} twice");
        }
        pages += 1;
        next = page.body.split_once("\" rel=\"next\"").map(|(before, _)| {
            let (_, address) = before.rsplit_once("href=\"").unwrap();
            address.replace("&#38;", "&")
        });
    }
    assert_eq!((seen.len(), pages), (COUNT, COUNT.div_ceil(PER_PAGE)));
}

#[tokio::test]
async fn title_and_caption_describe_the_listed_keys() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let holder = ada.as_holder();
    let old = installation.issue(&holder, "Old laptop").await;
    let keys = installation.keys();
    keys.revoke(
        &holder,
        old.key.id,
        DescendantKeys::Keep,
        KeyPrecondition::AnyVersion,
        RequestSource::default(),
    )
    .await
    .unwrap();
    for number in 1..=51 {
        installation.issue(&holder, &format!("Build {number}")).await;
    }
    let browser = running.signed_in("ada").await;
    let after = browser.get(LIST).await;
    let (before, _) = after.body.split_once("\" rel=\"next\"").unwrap();
    let older = format!("?{}", before.rsplit_once("api-keys?").unwrap().1);
    for (query, title, caption) in [
        ("", "API Keys", "The 50 newest valid keys"),
        (&*older, "API Keys, older", "1 older valid key"),
        ("?status=revoked", "Revoked API keys", "1 revoked key"),
        ("?status=all", "Valid and revoked API keys", "The 50 newest keys"),
        (
            "?search=build+51",
            "Keys that match “build 51”, API Keys",
            "1 valid key that matches “build 51”",
        ),
        (
            "?search=build+5",
            "Keys that match “build 5”, API Keys",
            "3 valid keys that match “build 5”, newest first",
        ),
    ] {
        let list = browser.get(&format!("{LIST}{query}")).await;
        assert!(
            list.shows(&format!("<title>{title} · Acme · Keyward</title>")),
            "{query}"
        );
        let (_, told) = list.body.split_once("<caption>").unwrap();
        let told = told.split_once("</caption>").unwrap().0;
        assert_eq!(
            told.replace("<bdi>", "").replace("</bdi>", ""),
            caption,
            "{query}"
        );
    }
    let nothing = browser.get(&format!("{LIST}?search=nothing")).await;
    assert!(nothing.shows("<title>No keys match “nothing”, API Keys · Acme · Keyward</title>"));
}

#[tokio::test]
async fn pages_about_one_key_name_it_in_their_titles() {
    let (running, ada) = Running::with_ada().await;
    let key = running.installation.issue(&ada.as_holder(), "Laptop").await.key;
    let browser = running.signed_in("ada").await;
    for (path, verb) in [("edit", "Edit"), ("rotate", "Rotate"), ("revoke", "Revoke")] {
        let page = browser.get(&format!("{LIST}/{}/{path}", key.id)).await;
        let title = format!("<title>{verb} “Laptop” · Acme · Keyward</title>");
        assert!(page.shows(&title), "{}", page.body);
    }
}

#[tokio::test]
async fn key_search_can_be_widened_to_all_keys_or_cleared() {
    let (running, ada) = Running::with_ada().await;
    running.installation.issue(&ada.as_holder(), "Laptop").await;
    let browser = running.signed_in("ada").await;
    let found = browser.get(&format!("{LIST}?search=laptop&status=all")).await;
    assert!(found.shows(&format!("href=\"{LIST}?status=all\">Clear")));
    let nothing = browser.get(&format!("{LIST}?search=nothing")).await;
    assert!(nothing.shows(&format!("href=\"{LIST}?status=all&#38;search=nothing\"")));
    assert!(!browser.get(LIST).await.shows(">Clear<"));
}

#[tokio::test]
async fn long_description_expands_without_script() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let holder = ada.as_holder();
    for (name, description) in [
        ("Short", "One line".to_owned()),
        ("Lines", "Two\nlines".to_owned()),
        ("Long", "long ".repeat(99) + "end."),
    ] {
        let issued = installation.issue(&holder, name).await;
        let edit = KeyEdit {
            description: Some(KeyDescription::parse(&description).unwrap()),
            ..KeyEdit::default()
        };
        let keys = installation.keys();
        keys.edit(
            &holder,
            issued.key.id,
            edit,
            KeyPrecondition::AnyVersion,
            RequestSource::default(),
        )
        .await
        .unwrap();
    }
    let list = running.signed_in("ada").await.get(LIST).await;
    assert_eq!(list.body.matches("<details class=\"description\">").count(), 2);
    assert!(
        list.shows("long long end.</bdi>")
            && list.shows("<summary><bdi class=\"clamped\">Two\nlines</bdi><span class=\"more\">More<")
    );
}

/// A name is cut only where a form shows the whole of it, and a description only beside "More".
#[tokio::test]
async fn own_key_texts_are_cut_only_if_shown_elsewhere() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let holder = ada.as_holder();
    let keys = installation.keys();
    let mut issued = Vec::new();
    for name in ["Laptop", "Old laptop"] {
        let draft = KeyDraft {
            description: KeyDescription::parse(&format!("{name} of Ada")).unwrap(),
            ..KeyDraft::named(KeyName::parse(name).unwrap())
        };
        let source = RequestSource::default();
        issued.push(keys.issue(&holder, draft, None, source).await.unwrap());
    }
    keys.revoke(
        &holder,
        issued[1].key.id,
        DescendantKeys::Keep,
        KeyPrecondition::AnyVersion,
        RequestSource::default(),
    )
    .await
    .unwrap();
    let browser = running.signed_in("ada").await;
    let list = browser.get(&format!("{LIST}?status=all")).await;
    for begin in [
        "<span class=\"row-name line\" title=\"Laptop\"><bdi>Laptop<",
        "<span class=\"description\"><bdi>Laptop of Ada<",
        "<span class=\"row-name\"><bdi>Old laptop<",
        "<span class=\"description\"><bdi>Old laptop of Ada<",
    ] {
        assert!(list.shows(begin), "{begin}: {}", list.body);
    }
}

/// A list without bullets is no list to Safari unless it says so, and what scrolls takes the focus.
#[test]
fn template_lists_keep_their_role_and_scrollable_ones_have_names() {
    let templates = templates();
    let lists: Vec<&str> = templates
        .iter()
        .flat_map(|text| text.split("<ul").skip(1))
        .collect();
    for list in &lists {
        let tag = list.lines().next().unwrap();
        let scrolls = tag.contains(" tabindex=\"0\"");
        assert!(tag.contains(" role=\"list\""), "{tag}");
        assert!(!scrolls || tag.contains(" aria-labelledby=\""), "{tag}");
    }
    assert!(lists.len() > 10, "{}", lists.len());
}

#[test]
fn notices_that_only_inform_carry_no_warning_sign() {
    for template in templates() {
        for notice in template.split("class=\"notice info\"").skip(1) {
            let line = notice.lines().next().unwrap();
            assert!(!line.contains("icons/alert.svg"), "{line}");
        }
    }
}

#[test]
fn every_disclosure_shows_that_it_opens() {
    let templates = templates();
    let summaries = templates.iter().flat_map(|text| text.split("<summary").skip(1));
    for rest in summaries {
        let (summary, _) = rest.split_once("</summary>").unwrap();
        let signs = ["icons/chevron.svg", "class=\"more\"", "⋯"];
        assert!(signs.iter().any(|sign| summary.contains(sign)), "{summary}");
    }
}

fn templates() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/templates");
    let files = std::fs::read_dir(folder).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let pages = paths.filter(|path| path.extension().is_some_and(|extension| extension == "html"));
    pages.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[tokio::test]
async fn user_texts_are_rendered_in_their_own_direction() {
    let running = Running::new().await;
    let name = "مرصد الخليج";
    let organization = running.installation.organization(name);
    let member = running.installation.member(&organization, "ada", Role::Owner);
    running.installation.issue(&member.as_holder(), name).await;
    let browser = running.signed_in("ada").await;
    let list = LIST.replace("acme", organization.slug.as_str());
    let page = browser.get(&list).await;
    for (start, _) in page.body.match_indices(name) {
        let before = &page.body[..start];
        assert!(
            [
                "<bdi>",
                "<bdi class=\"organization\">",
                "Edit<span class=\"unseen\"> ",
                "Rotate<span class=\"unseen\"> ",
                "Revoke<span class=\"unseen\"> ",
                "title=\"",
                " · "
            ]
            .iter()
            .any(|isolated| before.ends_with(isolated)),
            "{}",
            &before[before.len() - 60..]
        );
    }
    assert!(page.shows("type=\"search\" dir=\"auto\""));
    let form = browser
        .get(&NEW.replace("acme", organization.slug.as_str()))
        .await;
    let count = |part: &str| form.body.matches(part).count();
    let texts = count("type=\"text\"") + count("<textarea");
    assert!(texts > 1, "name and description at least");
    assert_eq!(count("dir=\"auto\""), texts, "{}", form.body);
}
