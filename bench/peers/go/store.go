package main

import (
	"context"
	"database/sql"

	_ "github.com/mattn/go-sqlite3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	batchRowsMax   = 512
	waitingRowsMax = 16_384
)

// store stores plants in SQLite: one goroutine writes, and commits everything that waits at once.
type store struct {
	db      *sql.DB
	insert  *sql.Stmt
	find    *sql.Stmt
	waiting chan waitingRow
}

type row struct {
	id   int64
	name string
	tag  *string
}

type waitingRow struct {
	row
	// Buffered, so that a caller that has left delays nobody.
	answer chan error
}

// openStore returns nil, which stores nothing, for the path "-".
func openStore(path string) (*store, error) {
	if path == "-" {
		return nil, nil
	}
	db, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate&_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`
		PRAGMA wal_autocheckpoint = 4000;
		CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT`)
	if err != nil {
		return nil, err
	}
	insert, err := db.Prepare("INSERT INTO plants VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
	if err != nil {
		return nil, err
	}
	find, err := db.Prepare("SELECT name, tag FROM plants WHERE id = ?")
	if err != nil {
		return nil, err
	}
	s := &store{db: db, insert: insert, find: find, waiting: make(chan waitingRow, waitingRowsMax)}
	go s.write()
	return s, nil
}

// create returns once the row is on disk.
func (s *store) create(ctx context.Context, created row) error {
	if s == nil {
		return nil
	}
	waiting := waitingRow{row: created, answer: make(chan error, 1)}
	select {
	case s.waiting <- waiting:
	default:
		return status.Error(codes.ResourceExhausted, "too many plants are waiting")
	}
	select {
	case err := <-waiting.answer:
		return err
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

func (s *store) write() {
	batch := make([]waitingRow, 0, batchRowsMax)
	for first := range s.waiting {
		batch = s.takeAll(append(batch[:0], first))
		stored, err := s.commit(batch)
		for index, waiting := range batch {
			switch {
			case err != nil:
				waiting.answer <- status.Error(codes.Internal, err.Error())
			case !stored[index]:
				waiting.answer <- status.Error(codes.AlreadyExists, "another plant has this id")
			default:
				waiting.answer <- nil
			}
		}
	}
}

// takeAll adds everything that waits now.
func (s *store) takeAll(batch []waitingRow) []waitingRow {
	for len(batch) < batchRowsMax {
		select {
		case waiting := <-s.waiting:
			batch = append(batch, waiting)
		default:
			return batch
		}
	}
	return batch
}

// commit returns for each row whether it is stored. A failure rolls all of them back.
func (s *store) commit(batch []waitingRow) ([]bool, error) {
	tx, err := s.db.Begin()
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	insert, find := tx.Stmt(s.insert), tx.Stmt(s.find)
	stored := make([]bool, len(batch))
	for index, waiting := range batch {
		if stored[index], err = put(insert, find, waiting.row); err != nil {
			return nil, err
		}
	}
	return stored, tx.Commit()
}

func put(insert, find *sql.Stmt, wanted row) (bool, error) {
	result, err := insert.Exec(wanted.id, wanted.name, wanted.tag)
	if err != nil {
		return false, err
	}
	if inserted, err := result.RowsAffected(); err != nil || inserted == 1 {
		return true, err
	}
	var found row
	if err := find.QueryRow(wanted.id).Scan(&found.name, &found.tag); err != nil {
		return false, err
	}
	isSameTag := (found.tag == nil) == (wanted.tag == nil) && (found.tag == nil || *found.tag == *wanted.tag)
	return found.name == wanted.name && isSameTag, nil
}
