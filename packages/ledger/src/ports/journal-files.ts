/** Files of one folder, written and moved so that a crash leaves the old state or the new one. */
export interface JournalFiles {
  /** Names in the folder; none if it is not there. */
  list(directory: string): Promise<readonly string[]>;
  /** The content of a file; null if it is not there. */
  read(directory: string, name: string): Promise<Uint8Array | null>;
  /** Makes the folder if need be, and puts a whole file into it; returns once it is durable. */
  write(directory: string, name: string, text: string): Promise<void>;
  /** Renames durably. Never replaces: `taken` if the new name is there, `gone` if the old one is not. */
  move(directory: string, from: string, to: string): Promise<'moved' | 'taken' | 'gone'>;
  /** Removes durably; harmless if the file is gone. */
  remove(directory: string, name: string): Promise<void>;
}
