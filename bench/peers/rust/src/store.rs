//! Plants in SQLite: one thread writes, and commits everything that waits at once.

use rusqlite::{Connection, Transaction, params};
use std::{iter, sync::mpsc, thread};
use tokio::sync::oneshot;
use tonic::Status;

const BATCH_ROWS_MAX: usize = 512;
const WAITING_ROWS_MAX: usize = 16_384;

#[derive(Clone)]
pub struct Store(mpsc::SyncSender<Waiting>);

#[derive(PartialEq)]
pub struct Row {
    pub id: i64,
    pub name: String,
    pub tag: Option<String>,
}

struct Waiting {
    row: Row,
    answer: oneshot::Sender<Result<Row, Status>>,
}

impl Store {
    pub fn open(path: &str) -> rusqlite::Result<Self> {
        let db = Connection::open(path)?;
        db.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA wal_autocheckpoint = 4000;
             CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT;",
        )?;
        let (sender, waiting) = mpsc::sync_channel(WAITING_ROWS_MAX);
        thread::spawn(move || write(db, waiting));
        Ok(Self(sender))
    }

    /// Returns once the row is on disk.
    pub async fn create(&self, row: Row) -> Result<Row, Status> {
        let (answer, answered) = oneshot::channel();
        self.0
            .try_send(Waiting { row, answer })
            .map_err(|_| Status::resource_exhausted("too many plants are waiting"))?;
        answered
            .await
            .unwrap_or_else(|_| Err(Status::internal("the store has ended")))
    }
}

fn write(mut db: Connection, waiting: mpsc::Receiver<Waiting>) {
    while let Ok(first) = waiting.recv() {
        let batch: Vec<Waiting> = iter::once(first)
            .chain(waiting.try_iter())
            .take(BATCH_ROWS_MAX)
            .collect();
        let outcome = commit(&mut db, &batch);
        for (index, Waiting { row, answer }) in batch.into_iter().enumerate() {
            // A caller that has left receives no answer.
            let _ = answer.send(match &outcome {
                Ok(stored) if stored[index] => Ok(row),
                Ok(_) => Err(Status::already_exists("another plant has this id")),
                Err(error) => Err(Status::internal(error.to_string())),
            });
        }
    }
}

/// Returns for each row whether it is stored. A failure rolls all of them back.
fn commit(db: &mut Connection, batch: &[Waiting]) -> rusqlite::Result<Vec<bool>> {
    let transaction = db.transaction()?;
    let stored = batch
        .iter()
        .map(|Waiting { row, .. }| insert(&transaction, row))
        .collect::<rusqlite::Result<_>>()?;
    transaction.commit()?;
    Ok(stored)
}

fn insert(transaction: &Transaction, row: &Row) -> rusqlite::Result<bool> {
    let inserted = transaction
        .prepare_cached("INSERT INTO plants VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?
        .execute(params![row.id, row.name, row.tag])?;
    if inserted == 1 {
        return Ok(true);
    }
    transaction
        .prepare_cached("SELECT id, name, tag FROM plants WHERE id = ?1")?
        .query_row([row.id], |found| {
            let (id, name, tag) = (found.get(0)?, found.get(1)?, found.get(2)?);
            Ok(*row == Row { id, name, tag })
        })
}
