package apiserver

import (
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

func (srv *Server) isReview(r *request) bool {
	switch r.Ref.Resource {
	case schema.GroupResource{Group: authorizationv1.GroupName, Resource: "selfsubjectaccessreviews"},
		schema.GroupResource{Group: authorizationv1.GroupName, Resource: "subjectaccessreviews"},
		schema.GroupResource{Group: authenticationv1.GroupName, Resource: "selfsubjectreviews"},
		schema.GroupResource{Group: authenticationv1.GroupName, Resource: "tokenreviews"}:
		return r.Method == http.MethodPost && r.Name == ""
	}
	return false
}

// review answers by the Authorize hook. The user of a SubjectAccessReview, and the token of a
// TokenReview, are given to it as the user agent.
func (srv *Server) review(r *request) (response, error) {
	var answer any
	var err error
	switch r.Ref.Resource.Resource {
	case "selfsubjectaccessreviews":
		a := authorizationv1.SelfSubjectAccessReview{}
		err = json.Unmarshal(r.body, &a)
		a.Status = srv.access(a.Spec.ResourceAttributes, r.UserAgent())
		answer = a
	case "subjectaccessreviews":
		a := authorizationv1.SubjectAccessReview{}
		err = json.Unmarshal(r.body, &a)
		a.Status = srv.access(a.Spec.ResourceAttributes, a.Spec.User)
		answer = a
	case "selfsubjectreviews":
		answer = authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: r.UserAgent()}}}
	case "tokenreviews":
		a := authenticationv1.TokenReview{}
		err = json.Unmarshal(r.body, &a)
		if srv.allows("authenticate", Ref{}, a.Spec.Token) {
			a.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: a.Spec.Token}}
		}
		answer = a
	}
	if err != nil {
		return response{}, apierrors.NewBadRequest(err.Error())
	}
	return jsonResponse(answer).with(http.StatusCreated), nil
}

func (srv *Server) access(a *authorizationv1.ResourceAttributes, user string) authorizationv1.SubjectAccessReviewStatus {
	if a == nil { // a path
		return authorizationv1.SubjectAccessReviewStatus{Allowed: srv.allows("get", Ref{}, user)}
	}
	r := Ref{schema.GroupResource{Group: a.Group, Resource: a.Resource}, a.Namespace, a.Name}
	if a.Subresource != "" {
		r.Resource.Resource += "/" + a.Subresource
	}
	return authorizationv1.SubjectAccessReviewStatus{Allowed: srv.allows(a.Verb, r, user)}
}
