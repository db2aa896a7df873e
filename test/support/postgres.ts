import { inject } from 'vitest';

/** The server that this run of the tests has, as a URL with the owner's name and password. */
export function postgresUrl(): string {
  return inject('postgresUrl');
}
