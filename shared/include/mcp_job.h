/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A job: one backend invocation for a request of a call.  A call is detached
 * from the connection that asked, and is owned by the process that runs its
 * jobs; what the glue needs for them it keeps with the call.
 */


#ifndef MCP_JOB_H_INCLUDED
#define MCP_JOB_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "mcp_fact.h"
#include "mcp_worker.h"


/* Everything lives until mcp_job_end() returns. */
struct mcp_job_s {
    mcp_errand_t   errand;
    mcp_call_t    *call;
    unsigned       request;            /* which of the call's */
    unsigned       target;             /* of the endpoint's routes */
    mcp_str_t      body;               /* the JSON-RPC request to POST */
    mcp_facts_t    facts;
    void          *glue;               /* the glue's own */
    unsigned       started:1;          /* INVOKE was pulled */
    unsigned       rebuilt:1;          /* body ends with the job, whatever
                                          retains the call */
    unsigned       aborted:1;
};


/* What the glue keeps with the call (MCP_ACT_FORGET gives it back). */
void  mcp_call_set_glue(mcp_call_t *call, void *glue);
void *mcp_call_glue(const mcp_call_t *call);

/* Keeps the call's memory: what job->body (but see "rebuilt") and job->facts
 * refer to stays when the job has ended, until the call is released as
 * often. */
void mcp_call_retain(mcp_call_t *call);
void mcp_call_release(mcp_call_t *call);

/* Returns the arguments that a tool is called with, raw JSON, or those of a
 * prompt; empty if there are none.  As long as the call is retained. */
mcp_str_t mcp_job_arguments(const mcp_job_t *job);

/* Returns 1 if the request has ended, or waits for what will be published: a
 * job that ended was its last.  As long as the call is retained. */
int mcp_job_is_last(const mcp_job_t *job);

/* Returns the quota key of the job's call, MCP_DIGEST_LEN bytes, or NULL if no
 * share limits its streams.  As long as the call is retained. */
const unsigned char *mcp_job_party(const mcp_job_t *job);

/* Returns 1 if the job is the first one of its call, so that the call can still
 * be refused. */
int mcp_job_is_first(const mcp_job_t *job);

/* Refuses the call of a job that was pulled and has not run, because its caller
 * has used up a share of the glue.  Ends the job. */
void mcp_job_refuse(mcp_job_t *job, const char *detail);

/* What the answer's head says in Retry-After, if anything; before the head. */
void mcp_job_retry_after(mcp_job_t *job, mcp_str_t value);

/* Answer's head; once. */
void mcp_job_head(mcp_job_t *job, int status, mcp_str_t content_type);

/* Answer's bytes; returns how many were taken.  Fewer than len: stop reading
 * the backend and offer the rest again after MCP_ACT_RESUME. */
size_t mcp_job_data(mcp_job_t *job, const char *data, size_t len);

/* The answer is over, exactly once for every job that was pulled; fault NONE
 * if it is complete.  detail: static text for the log.  job is gone. */
void mcp_job_end(mcp_job_t *job, mcp_fault_e fault, const char *detail);


#endif /* MCP_JOB_H_INCLUDED */
