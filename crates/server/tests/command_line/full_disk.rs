//! A server with an embedded database on a full disk: nothing new is made, and access can be taken away.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::Signal;

use crate::browser::{cookie, create_key, send, sign_in, token_in};
use crate::keyward::{Answer, Keyward};
use crate::readiness::{until, until_detail};
use crate::server::Server;
use crate::setup::PASSWORD;
use crate::small_disk::{fill, on_a_small_disk};

/// The `detail` of `/readyz`.
const DISK_FULL: &str = "The disk of the database is full. Keys are verified, and can be revoked while its reserve lasts; other changes wait.";

/// The reserve for revocations.
const RESERVE: u64 = 16 * 1024 * 1024;

struct Key {
    id: String,
    bearer: String,
}

impl Key {
    fn create(server: &Server, cookie: &str, name: &str) -> Self {
        let page = create_key(server, cookie, name);
        let bearer = format!("Authorization: Bearer {}", token_in(&page.body));
        let current = server.ask("GET", "/api/v1/user/api-keys/current", &[&bearer], "");
        let id = current.json()["id"].as_str().unwrap().to_owned();
        Self { id, bearer }
    }

    fn status(&self, server: &Server) -> u16 {
        server.ask("GET", "/api/v1/user", &[&self.bearer], "").status
    }

    fn revoke(&self, server: &Server) -> u16 {
        let own = "/api/v1/user/api-keys/current";
        server.ask("DELETE", own, &[&self.bearer], "").status
    }

    fn make_child(&self, server: &Server) -> u16 {
        let json = "Content-Type: application/json";
        let name = r#"{"name":"child"}"#;
        let answer = server.ask("POST", "/api/v1/user/api-keys", &[&self.bearer, json], name);
        answer.status
    }
}

fn keyward(data: &Path, arguments: &[&str], input: &str) -> Answer {
    Keyward::new(arguments).data_directory(data).input(input).run()
}

#[test]
fn full_disk_refuses_new_keys_but_accepts_revocations() {
    on_a_small_disk(
        "full_disk::full_disk_refuses_new_keys_but_accepts_revocations",
        |disk| {
            let data = disk.join("data");
            let acme = "--organization=acme-sons";
            let bootstrap = [
                "admin",
                "bootstrap",
                "--organization=Acme & Sons",
                "--username=ada",
                "--password-stdin",
            ];
            keyward(&data, &bootstrap, PASSWORD).success();
            let grace = ["--username=grace", "--password-stdin"];
            keyward(
                &data,
                &[&["admin", "create-user", acme], &grace[..]].concat(),
                PASSWORD,
            )
            .success();
            let mut server = Server::start_in(&data);
            let signed_in = sign_in(&server, "ada", PASSWORD);
            let names = ["api", "console", "command", "restarted", "stays"];
            let keys = names.map(|name| Key::create(&server, cookie(&signed_in), name));
            let [by_api, by_console, by_command, after_restart, stays] = &keys;
            until(&server, 200);

            // Other programs take free space at once.
            let ballast = disk.join("ballast");
            let fill = || fill(&ballast);
            fill();
            until_detail(&server, DISK_FULL);
            // Pages that SQLite allocated before may have room for some.
            assert!((0..90).any(|_| stays.make_child(&server) == 503));
            server.event("changes fail");
            server.event("storage unavailable");
            assert_eq!(keys.each_ref().map(|key| key.status(&server)), [200; 5]);

            let kept = || fs::metadata(data.join("keyward.reserve")).unwrap().len();
            let kept_before = kept();
            for _ in 0..30 {
                let path = "/organizations/acme-sons/settings/general/new-keys";
                let changed = send(&server, path, cookie(&signed_in), "manage_keys=yes");
                assert_eq!(changed.status, 503, "{}", changed.body);
            }
            assert_eq!(kept(), kept_before, "owners' changes use nothing of it");

            assert_eq!(by_api.revoke(&server), 204);
            fill();
            let again = sign_in(&server, "ada", PASSWORD);
            fill();
            let revoke = format!(
                "/organizations/acme-sons/settings/api-keys/{}/revoke",
                by_console.id
            );
            let revoked = send(&server, &revoke, cookie(&again), "confirm=yes");
            assert_eq!(revoked.status, 303, "{}", revoked.body);
            fill();
            let revoke = [
                "admin",
                "revoke",
                acme,
                "--reason=found in a log",
                "--key",
                &by_command.id,
            ];
            keyward(&data, &revoke, "").success();
            fill();
            keyward(&data, &["admin", "remove-member", acme, "--username=grace"], "").success();
            fill();
            assert_eq!(
                keys.each_ref().map(|key| key.status(&server)),
                [401, 401, 401, 200, 200]
            );
            assert_eq!(stays.make_child(&server), 503, "what is kept is not for that");

            server.signal(Signal::KILL);
            server.ended();
            fill();
            let mut server = Server::start_in(&data);
            until_detail(&server, DISK_FULL);
            assert_eq!(
                keys.each_ref().map(|key| key.status(&server)),
                [401, 401, 401, 200, 200]
            );
            assert_eq!(after_restart.revoke(&server), 204);
            assert_eq!(after_restart.status(&server), 401);
            assert_eq!(stays.make_child(&server), 503);

            fs::remove_file(&ballast).unwrap();
            until(&server, 200);
            assert_eq!(stays.make_child(&server), 201);
            server.event("changes work again");
            let reserve = fs::metadata(data.join("keyward.reserve")).unwrap();
            assert_eq!(reserve.len(), RESERVE);
            assert!(reserve.blocks() * 512 >= RESERVE, "{} blocks", reserve.blocks());
        },
    );
}
