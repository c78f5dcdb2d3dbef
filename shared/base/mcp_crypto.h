/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Digests, message authentication, encryption and comparison of secrets. Random
 * numbers: mcp_random() in mcp.h.
 */


#ifndef MCP_CRYPTO_H_INCLUDED
#define MCP_CRYPTO_H_INCLUDED


#include "mcp.h"


#define MCP_CRYPTO_HASH_LEN  32        /* length of a SHA-256 */
#define MCP_CRYPTO_MAC_LEN   32        /* length of an HMAC-SHA256 */
#define MCP_CRYPTO_KEY_LEN   32
#define MCP_CRYPTO_IV_LEN    12        /* length of an IV of AES-256-GCM */
#define MCP_CRYPTO_TAG_LEN   16


/*
 * Returns 1 if a and b are equal. The duration depends only on their lengths.
 */
int mcp_secret_eq(mcp_str_t a, mcp_str_t b);

/* Like mcp_secret_eq(), for two secrets that both have len bytes. */
int mcp_secret_same(const unsigned char *a, const unsigned char *b, size_t len);

/* Overwrites a secret, in a way that the compiler does not optimize away. */
void mcp_crypto_cleanse(void *p, size_t len);

/*
 * Computes the SHA-256 of len bytes.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_crypto_hash(unsigned char out[MCP_CRYPTO_HASH_LEN], const void *data,
    size_t len);

/*
 * Joins n parts, with a NUL between each two, and sets out to the first
 * MCP_DIGEST_LEN bytes of their SHA-256.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_digest(unsigned char out[MCP_DIGEST_LEN], const mcp_str_t *parts,
    size_t n);

/* Returns 1 if the id of a principal, a tenant or a session is all zeros, so
 * that there is no principal, tenant or session. */
int mcp_digest_is_nobody(const unsigned char id[MCP_DIGEST_LEN]);

/*
 * Computes the HMAC-SHA256 of the purpose followed by the data.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_crypto_mac(const unsigned char key[MCP_CRYPTO_KEY_LEN], char purpose,
    const void *data, size_t len, unsigned char mac[MCP_CRYPTO_MAC_LEN]);


/*
 * The parameters of AES-256-GCM. "bound" is the additional authenticated data:
 * the tag covers them, but they are not encrypted and not part of the output.
 */
typedef struct {
    const unsigned char  *key;         /* MCP_CRYPTO_KEY_LEN bytes */
    const unsigned char  *iv;          /* MCP_CRYPTO_IV_LEN bytes */
    mcp_str_t             bound;
} mcp_crypto_cipher_t;


/*
 * Encrypts len bytes (at most INT32_MAX) from in to out and appends the tag:
 * out has room for len + MCP_CRYPTO_TAG_LEN bytes.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_crypto_encrypt(const mcp_crypto_cipher_t *cipher, const void *in,
    size_t len, unsigned char *out);

/*
 * Decrypts len bytes, which are followed by the tag, from in to out.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED    the tag does not belong to this key and these data: the
 *                     content of out must not be used
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_crypto_decrypt(const mcp_crypto_cipher_t *cipher,
    const unsigned char *in, size_t len, unsigned char *out);


#endif /* MCP_CRYPTO_H_INCLUDED */
