-- Kind: additive

-- Browsers in which somebody signed in before. It is only added: the version before this one goes on beside it.

-- What the cookies of browsers in which somebody signed in before are signed with; made at the first sign-in.
ALTER TABLE installation ADD COLUMN browser_key BLOB
    CONSTRAINT installation_browser_key_check CHECK (length(browser_key) = 32);
