//! What an observer is told of each request.

use std::sync::{Arc, Mutex};

use crate::{client::eventually, running::Running};

type Told = Arc<Mutex<Vec<(String, Option<u16>)>>>;

async fn observed() -> (Running, Told) {
    let told = Told::default();
    let telling = told.clone();
    let door = Running::with(|config| {
        config.observer = Some(Arc::new(move |exchanged| {
            let status = exchanged.response.map(|response| response.status().as_u16());
            telling
                .lock()
                .unwrap()
                .push((exchanged.uri.path().to_owned(), status));
        }));
    })
    .await;
    (door, told)
}

#[tokio::test]
async fn observer_is_told_of_answers_and_refusals() {
    let (door, told) = observed().await;
    let mut client = door.client().await;
    client.ask("/request-ids").await;
    client.answer().await;
    client.send("GET /refused HTTP/1.1\r\n\r\n").await;
    client.answer().await;
    let expected = [
        ("/request-ids".to_owned(), Some(200)),
        ("/refused".to_owned(), Some(400)),
    ];
    assert_eq!(*told.lock().unwrap(), expected);
}

#[tokio::test]
async fn observer_is_told_once_of_a_client_that_left() {
    let (door, told) = observed().await;
    let mut client = door.client().await;
    client.ask("/never").await;
    door.stage.is_asked("/never").await;
    drop(client);
    eventually(async || !told.lock().unwrap().is_empty()).await;
    assert_eq!(*told.lock().unwrap(), [("/never".to_owned(), None)]);
}
