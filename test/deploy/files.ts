import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll } from 'vitest'
import { parseAllDocuments, parseDocument } from 'yaml'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const at = (path: string): string => join(ROOT, path)
export const read = (path: string): string => readFileSync(at(path), 'utf8')

/** A value of a YAML document, looked into without a type of its own. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Loose = any

export const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '')

/** Every document of a YAML file. Throws at the first error, also at a key that is there twice. */
export function yamlDocuments(path: string): Loose[] {
  return parseAllDocuments(read(path), { merge: true }).map((document) => {
    if (document.errors[0]) throw document.errors[0]
    return document.toJS() as Loose
  })
}

export function yaml(path: string): Loose {
  const document = parseDocument(read(path), { merge: true })
  if (document.errors[0]) throw document.errors[0]
  return document.toJS() as Loose
}

/** The files of a deployment in the repository, without the files that secrets.sh and you write beside them. */
export function deploymentFiles(): string[] {
  const below = (folder: string): string[] =>
    readdirSync(at(folder), { recursive: true, withFileTypes: true, encoding: 'utf8' })
      .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('/secrets') && entry.name !== '.env')
      .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
  return ['Dockerfile', '.dockerignore', ...below('deploy'), ...below('grafana')]
}

/** A directory that is deleted after the tests of this file. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-deploy-'))
  afterAll(() => rm(directory, { recursive: true, force: true }))
  return directory
}
