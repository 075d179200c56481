//! `keyward admin setup-link`: the one-time link for the first run in a browser.

use keyward_domain::audit::RequestSource;
use keyward_domain::sign_in::ports::ReplaceSetupLinkError;
use zeroize::Zeroizing;

use super::Failure;
use crate::composition::{Composition, sources_of_this_machine};
use crate::options::SetupLinkOptions;
use crate::output;
use crate::public_url;
use crate::storage;

/// Makes a new link and prints it on standard output, alone on its line.
pub(crate) async fn run(options: SetupLinkOptions) -> Result<(), Failure> {
    let public_url = public_url::given(&options.public_url)?;
    let store = storage::open_or_make_where_named(&options.storage.database).await?;
    let setup = Composition::new(sources_of_this_machine(), store).setup();
    let token = setup
        .create_link(RequestSource::default())
        .await
        .map_err(failure)?;
    let line = Zeroizing::new(format!("{}\n", keyward_console::setup_link(&public_url, &token)));
    output::answer(&line)?;
    output::report("The link works once and expires in 24 hours.");
    Ok(())
}

fn failure(error: ReplaceSetupLinkError) -> Failure {
    match error {
        ReplaceSetupLinkError::AlreadySetUp => Failure::AlreadySetUp,
        ReplaceSetupLinkError::Storage(error) => Failure::Storage(error),
    }
}
