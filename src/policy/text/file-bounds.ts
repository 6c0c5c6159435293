import {
  MAX_DIRECTORY_BYTES,
  MAX_DIRECTORY_NODES,
  MAX_FILE_BYTES,
  MAX_LIST_BYTES,
  MAX_YAML_NODES,
} from './bounds.ts'

/** The maximum size of a bundle file. */
export interface FileBounds {
  readonly bytes: number
  /** The number of YAML nodes: keys, values, lists and maps. */
  readonly nodes: number
}

const OF_ANY: FileBounds = { bytes: MAX_FILE_BYTES, nodes: MAX_YAML_NODES }
const OF_DIRECTORY: FileBounds = { bytes: MAX_DIRECTORY_BYTES, nodes: MAX_DIRECTORY_NODES }
const OF_LIST: FileBounds = { bytes: MAX_LIST_BYTES, nodes: 0 }

/** @param path the file's path in the bundle */
export function fileBounds(path: string): FileBounds {
  if (path.startsWith('lists/')) return OF_LIST
  return path === 'directory.yaml' ? OF_DIRECTORY : OF_ANY
}
